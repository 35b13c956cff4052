// The example's page in a real browser: it subscribes to a real node over WebSockets, also when its connection breaks,
// and what else a page can do with the library.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Browser, JSHandle, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Client, connect, createNode, type Node, type NodeOptions } from '../../index.ts'
import { relayTo } from '../net/relay.ts'
import { executablePath, launch } from './chromium.ts'

const SERVER = fileURLToPath(new URL('../../examples/browser/server.ts', import.meta.url))
const LISTEN = ['/ip4/127.0.0.1/tcp/0/ws']

describe.skipIf(executablePath === undefined)('in a browser', () => {
  let browser: Browser
  let server: ChildProcess
  let url: string
  beforeAll(async () => {
    server = spawn(process.execPath, [SERVER], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(server.stdout!, 'data')
    url = /http:\S+/.exec(String(line))![0]
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    server?.kill('SIGKILL')
  })

  test('the page shows events, digests of what it is too slow for, and an exact receipt', async () => {
    const page = await open(browser, url)
    await page.locator('#state:text-is("attached")').waitFor()
    await page.locator('#items .digest').first().waitFor()
    expect(await page.locator('#items .digest').first().textContent()).toMatch(
      /^\d+ dropped: mean \d+\.\d, from \d+ to \d+$/,
    )
    expect(Number(await page.locator('#pulse').textContent())).toBeGreaterThan(50)
    const { delivered, digested, gaps, first, last } = await receiptOf(page)
    expect(delivered).toBeGreaterThan(0)
    expect(digested).toBeGreaterThan(0)
    expect({ gaps, sum: delivered + digested + gaps }).toEqual({ gaps: 0, sum: last - first + 1 })
  })

  test('a page whose connection is cut comes back, and its receipt has everything', async () => {
    const node = await serving()
    const { relay, address } = await relayTo(node.addresses[0]!)
    const sender = (await attached(node)).sender('pulse', { PulseRate: 'number' })
    const page = await open(browser, url, { addresses: [address], sender: sender.id })
    const publishing = setInterval(() => sender.publish({ PulseRate: 60 + (sender.published % 60) }), 10)
    onTestFinished(() => clearInterval(publishing))
    await page.locator('#items .digest').first().waitFor()

    relay.cut()
    await page.locator('#state:text-is("looking for the node …")').waitFor()
    const before = sender.published
    relay.mend()
    await page.locator('#state:text-is("attached")').waitFor()
    await expect.poll(async () => (await receiptOf(page)).last, { timeout: 20_000 }).toBeGreaterThan(before)

    clearInterval(publishing)
    await sender.close()
    await page.locator('#every').fill('0')
    await expect.poll(async () => (await receiptOf(page)).last, { timeout: 20_000 }).toBe(sender.published)
    const { delivered, digested, gaps, first } = await receiptOf(page)
    expect({ gaps, sum: delivered + digested }).toEqual({ gaps: 0, sum: sender.published - first + 1 })
    expect(digested).toBeGreaterThan(0)
    expect(relay.connections).toBeGreaterThan(1)
  })

  test('a page publishes, pulls, and is the same client again with the same key', async () => {
    const psk = crypto.getRandomValues(new Uint8Array(32))
    const node = await serving({ psk })
    const page = await open(browser, url)
    const given = { library: await library(page), addresses: node.addresses, psk: [...psk] }
    const { id, sender, pulled, again } = await page.evaluate(publishAndPull, given)
    expect(pulled).toEqual([3])
    expect(again).toBe(id)
    const senders = await (await attached(node, psk)).senders()
    expect(senders).toMatchObject([{ sid: sender, name: 'page', tags: ['n'] }])
  })

  test('a page is told what it cannot do', async () => {
    const page = await open(browser, url)
    expect(await page.evaluate(mistakes, await library(page))).toEqual([
      expect.stringMatching(/^UNREACHABLE .* reaches WebSockets only, addresses with \/ws or \/wss$/),
      expect.stringMatching(/^UNREACHABLE /),
      expect.stringMatching(/^KEY_INVALID a key of 31 bytes, expected 32 bytes/),
      expect.stringMatching(/^ADDRESS_INVALID .*did you mean/),
    ])
  })

  test('the server of the page ends with Ctrl-C', async () => {
    const page = await open(browser, url)
    await page.locator('#state:text-is("attached")').waitFor()
    server.kill('SIGINT')
    expect(await once(server, 'exit')).toEqual([0, null])
    await page.locator('#state:text-is("looking for the node …")').waitFor()
  })
})

type Library = typeof import('../../browser.ts')

/** What the page imports. */
function library(page: Page): Promise<JSHandle<Library>> {
  return page.evaluateHandle("import('/spillway.js')")
}

interface Given {
  readonly library: Library
  readonly addresses: readonly string[]
  readonly psk: readonly number[]
}

/** This runs in the page, where it is sent as text. */
async function publishAndPull({ library, addresses, psk }: Given) {
  const { connect, fixedInterval } = library
  const options = { psk: Uint8Array.from(psk), key: new Uint8Array(32).fill(7) }
  const client = await connect(addresses, options)
  const { id } = client
  const sender = client.sender('page', { n: 'number' })
  for (const n of [1, 2, 3]) sender.publish({ n })
  await sender.close()
  const pulled: unknown[] = []
  for await (const item of client.pull(sender.id, { schedule: fixedInterval(100) })) {
    if (item.kind === 'event') pulled.push(item.n)
    break
  }
  await client.close()
  const same = await connect(addresses, options)
  const again = same.id
  await same.close()
  return { id, sender: sender.id, pulled, again }
}

/** This, too. */
async function mistakes({ connect }: Library) {
  const attempts = [
    () => connect('/ip4/127.0.0.1/tcp/4600'),
    () => connect('/ip4/127.0.0.1/tcp/9/ws'),
    () => connect('/ip4/127.0.0.1/tcp/9/ws', { key: new Uint8Array(31) }),
    () => connect('127.0.0.1:4600'),
  ]
  const wrong: string[] = []
  for (const attempt of attempts)
    await attempt().catch(({ code, message }) => wrong.push(`${code} ${message}`))
  return wrong
}

/** The example's page, on its own overlay or on another one. */
async function open(browser: Browser, url: string, overlay?: object): Promise<Page> {
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  page.on('pageerror', (error) => console.error(error))
  if (overlay !== undefined) await page.route('**/overlay.json', (route) => route.fulfill({ json: overlay }))
  await page.goto(url)
  return page
}

const RECEIPT = /(\d+) delivered \+ (\d+) in digests \+ (\d+) in gaps = (\d+) to (\d+)/

async function receiptOf(page: Page) {
  const text = await page.locator('#receipt').textContent()
  const [delivered, digested, gaps, first, last] = RECEIPT.exec(text ?? '')!
    .slice(1)
    .map(Number)
  return { delivered: delivered!, digested: digested!, gaps: gaps!, first: first!, last: last! }
}

async function serving(options: NodeOptions = {}): Promise<Node> {
  const node = await createNode({ listen: LISTEN, ...options })
  onTestFinished(() => node.close())
  return node
}

async function attached({ addresses }: Node, psk?: Uint8Array): Promise<Client> {
  const client = await connect(addresses, psk === undefined ? {} : { psk })
  onTestFinished(() => client.close())
  return client
}
