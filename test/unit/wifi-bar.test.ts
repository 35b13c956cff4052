import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { barOf, HEAD_BYTES, takesBar } from '../../examples/wifi-locator/bar/bar.ts'
import { BarInsertion } from '../../examples/wifi-locator/bar/bar-insertion.ts'
import { Places } from '../../examples/wifi-locator/bar/places.ts'
import type { Location } from '../../examples/wifi-locator/events.ts'

function location(change: Partial<Location>): Location {
  return { station: 's', ap: 'ap-1', building: 'Library', ip: '10.0.0.1', action: 'joined', at: 5, ...change }
}

describe('places', () => {
  it('say which building an address is in, also one mapped into IPv6', () => {
    const places = new Places()
    places.seen(location({}))
    expect(places.where('10.0.0.1')).toEqual({ ip: '10.0.0.1', ap: 'ap-1', building: 'Library', at: 5 })
    expect(places.where('::ffff:10.0.0.1')).toMatchObject({ building: 'Library' })
    expect(places.where('10.0.0.2')).toBeUndefined()
  })

  it('follow a station whose later locations do not tell its address', () => {
    const places = new Places()
    places.seen(location({}))
    places.seen(location({ ap: 'ap-2', building: 'Gym', ip: null, action: 'moved' }))
    expect(places.where('10.0.0.1')).toMatchObject({ ap: 'ap-2', building: 'Gym' })
  })

  it('forget who has left, and an address that was given up', () => {
    const places = new Places()
    places.seen(location({}))
    places.seen(location({ ip: '10.0.0.9' }))
    expect(places.where('10.0.0.1')).toBeUndefined()
    places.seen(location({ ip: null, action: 'left' }))
    expect(places.where('10.0.0.9')).toBeUndefined()
  })

  it('keep an address for its new owner when the old one leaves', () => {
    const places = new Places()
    places.seen(location({ station: 'old' }))
    places.seen(location({ station: 'new', building: 'Gym' }))
    places.seen(location({ station: 'old', action: 'left' }))
    expect(places.where('10.0.0.1')).toMatchObject({ building: 'Gym' })
  })
})

describe('the bar', () => {
  it('writes names as text of ASCII, whatever is in them', () => {
    const bar = barOf({
      ip: '',
      ap: '"><img src=x onerror=alert(1)>',
      building: '<script>é\u2028</script>',
      at: 0,
    })
    expect(bar).not.toMatch(/<script|<img|onerror=/)
    expect(bar).toContain('&#60;script&#62;&#233;&#8232;')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: everything but ASCII is looked for
    expect(bar).not.toMatch(/[^\x00-\x7f]/)
  })

  it('cuts names that are long', () => {
    expect(barOf({ ip: '', ap: 'a', building: 'x'.repeat(10_000), at: 0 }).length).toBeLessThan(600)
  })

  it.each([
    [true, 'GET', 200, { 'content-type': 'text/html; charset=utf-8' }],
    [true, 'GET', 404, { 'content-type': 'TEXT/HTML' }],
    [false, 'HEAD', 200, { 'content-type': 'text/html' }],
    [false, 'GET', 206, { 'content-type': 'text/html' }],
    [false, 'GET', 304, { 'content-type': 'text/html' }],
    [false, 'GET', 200, { 'content-type': 'text/htmlx' }],
    [false, 'GET', 200, { 'content-type': 'application/json' }],
    [false, 'GET', 200, {}],
    [false, 'GET', 200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }],
    [false, 'GET', 200, { 'content-type': 'text/html; charset=UTF-16LE' }],
    [false, 'GET', 200, { 'content-type': 'text/html', 'content-disposition': 'attachment; filename=x' }],
  ])('takes part: %s, in an answer to %s with status %d and %o', (takes, method, status, headers) => {
    expect(takesBar(method, status, headers)).toBe(takes)
  })
})

describe('a page with a bar', () => {
  it.each([
    ['<html><body class="a>b">x</body>', '<html><body class="a>b">BARx</body>'],
    ['<BODY>x', '<BODY>BARx'],
    ['<head><!-- <body> --></head>x', '<head><!-- <body> --></head>BARx'],
    ['<script>"<body>"</script><body>x', '<script>"<body>"</script><body>BARx'],
    ['<!doctype html><p>x', '<!doctype html>BAR<p>x'],
    ['just text', 'BARjust text'],
    ['', ''],
  ])('has it at the top: %s', async (page, expected) => {
    expect(await inserted([page])).toBe(expected)
    // However it is cut on its way.
    expect(await inserted([...page])).toBe(expected)
  })

  it('keeps every byte of whatever charset it has', async () => {
    const bytes = Buffer.concat([Buffer.from('<body>'), Buffer.from([0xe9, 0xff, 0x80, 0x0a])])
    const out = Readable.from([bytes]).pipe(new BarInsertion('BAR'))
    const chunks = await out.toArray()
    expect(Buffer.concat(chunks).toString('latin1')).toBe('<body>BAR\xe9\xff\x80\x0a')
  })

  it('stays as it is when it is UTF-16', async () => {
    const page = Buffer.from('\ufeff<body>x', 'utf16le')
    const chunks = await Readable.from([page]).pipe(new BarInsertion('BAR')).toArray()
    expect(Buffer.concat(chunks).equals(page)).toBe(true)
  })

  it('passes on without a bar held back for ever when no body begins', async () => {
    const page = `<!-- ${'x'.repeat(3 * HEAD_BYTES)}`
    const insertion = new BarInsertion('BAR')
    insertion.write(page.slice(0, HEAD_BYTES))
    expect(insertion.readableLength).toBeGreaterThanOrEqual(HEAD_BYTES)
  })
})

async function inserted(chunks: readonly string[]): Promise<string> {
  return await text(Readable.from(chunks.map((one) => Buffer.from(one))).pipe(new BarInsertion('BAR')))
}
