// The Wi-Fi locator as a process, driven by real syslog: `logger` with a recorded log, and lines over UDP and TCP.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { capturedFile, capturedLines, endingsOf, hasWifiData, renderedFormats } from '../unit/wifi-data.ts'

const MAIN = fileURLToPath(new URL('../../examples/wifi-locator/main.ts', import.meta.url))
const hasLogger = spawnSync('logger', ['--version']).stdout?.includes('util-linux') ?? false
if (!hasLogger) console.warn('skipped what needs logger of util-linux: it is not there')

interface Line {
  readonly station: string
  readonly ap: string
  readonly ip: string | null
  readonly action: string
  readonly time: number
}

interface Program {
  readonly child: ChildProcess
  readonly port: number
  readonly lines: Line[]
  /** Resolves when it has written something that the test wants. */
  until(isThere: () => boolean): Promise<void>
  /** Interrupts it; what it wrote on stderr. */
  stop(): Promise<string>
}

/** Starts the program without the campus, on a free port, when it listens. */
async function program(...argv: readonly string[]): Promise<Program> {
  const child = spawn(process.execPath, [MAIN, '--no-campus', '--json', '--syslog', '0', ...argv])
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  const lines: Line[] = []
  let heard = () => {}
  createInterface(child.stdout).on('line', (line) => {
    lines.push(JSON.parse(line))
    heard()
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr.on('data', (data) => {
      stderr += data
      const [, found] = /Listening for syslog on port (\d+)/.exec(stderr) ?? []
      if (found !== undefined) resolve(Number(found))
    })
    child.on('close', () => reject(new Error(stderr)))
  })
  const until = async (isThere: () => boolean) => {
    while (!isThere())
      await new Promise<void>((resolve) => {
        heard = resolve
      })
  }
  const stop = async () => {
    const closed = once(child, 'close')
    child.kill('SIGINT')
    expect(await closed).toEqual([0, null])
    return stderr
  }
  return { child, port, lines, until, stop }
}

async function sendUdp(port: number, ...lines: string[]): Promise<void> {
  const socket = createSocket('udp4')
  for (const line of lines) await new Promise((resolve) => socket.send(line, port, '127.0.0.1', resolve))
  socket.close()
}

async function sendTcp(port: number, text: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.end(text)
  await once(socket, 'close')
}

/** Marks the end of what was sent: when it is told, so is all before. */
const LAST = '02:00:00:00:00:ff'
const END = `<14>Nov 17 07:23:58 end hostapd: wlan0: AP-STA-CONNECTED ${LAST}`
const isLast = ({ station }: Line) => station === LAST

test.skipIf(!hasWifiData || !hasLogger)('stations end where a log says that logger sends', async () => {
  const { port, lines, until, stop } = await program()
  const file = fileURLToPath(capturedFile)
  const { status } = spawnSync('logger', ['-n', '127.0.0.1', '-P', `${port}`, '-d', '--rfc3164', '-f', file])
  expect(status).toBe(0)
  await sendUdp(port, END)
  await until(() => lines.some(isLast))
  const endings = endingsOf(capturedLines)
  for (const [station, { isThere, ip }] of endings) {
    const told = lines.filter((line) => line.station === station).at(-1)
    const isToldThere = told !== undefined && told.action !== 'left'
    expect([station, isToldThere, told?.ip ?? undefined]).toEqual([station, isThere, told && ip])
  }
  const written = await stop()
  expect(written).toContain('503 lines: 503 understood, 0 not')
  expect(written).toMatch(/in gaps = 503: exact/)
})

/** By vendor and event, where the station is after that line alone, if the line says so. */
const PLACES: Readonly<Record<string, string>> = {
  'cisco-ios-ap assoc': '00:00:5e:00:53:a0',
  'cisco-ios-ap roamed': '00:00:5e:00:53:a0',
  'hostapd assoc': 'ap1',
  'hostapd connected': 'ap1',
  'unifi assoc': 'ap1',
  'unifi join': 'ap1',
  'unifi-controller roam': '00:00:5e:00:53:a1',
  'mikrotik connected': 'wlan0',
  'mikrotik roamed': 'wlan1',
  'asuswrt assoc': '127.0.0.1',
  'ruijie assoc': '00:00:5e:00:53:a0',
}

/** The line with a station of its own, written as it was. */
function ofStation(rendered: string, i: number): [line: string, station: string] {
  const hex = i.toString(16).padStart(2, '0')
  const line = rendered
    .replaceAll(/00:00:5e:00:53:01/gi, `00:00:5e:00:54:${hex}`)
    .replaceAll('0000.5e00.5301', `0000.5e00.54${hex}`)
  return [line, `00:00:5e:00:54:${hex}`]
}

const sendings: Readonly<Record<string, (port: number, lines: string[]) => Promise<void>>> = {
  UDP: (port, lines) => sendUdp(port, ...lines),
  'TCP, a line each': (port, lines) => sendTcp(port, `${lines.join('\n')}\n`),
  'TCP, counted where there is a priority': (port, lines) =>
    sendTcp(
      port,
      lines.map((line) => (line.startsWith('<') ? `${line.length} ${line}` : `${line}\n`)).join(''),
    ),
}

test.skipIf(!hasWifiData).each(Object.keys(sendings))('every format arrives over %s', async (name) => {
  const { port, lines, until, stop } = await program()
  const sent = renderedFormats.map(({ rendered }, i) => ofStation(rendered, i))
  await sendings[name]!(port, [...sent.map(([line]) => line), 'hello', END])
  await until(() => lines.some(isLast))
  for (const [i, { vendor, event }] of renderedFormats.entries()) {
    const told = lines.filter(({ station }) => station === sent[i]![1])
    const place = PLACES[`${vendor} ${event}`]
    expect([vendor, event, ...told.map(({ action, ap }) => `${action} ${ap}`)]).toEqual([
      vendor,
      event,
      ...(place === undefined ? [] : [`joined ${place}`]),
    ])
  }
  expect(await stop()).toMatch(/29 lines: 28 understood, 1 not\n {2}the last that was not: hello\n/)
})

/** An access point that answers questions; a file for `--aps` with it. */
async function accessPoint(name: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'spillway-wifi-'))
  onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(join(folder, 'aps.json'), JSON.stringify({ [name]: { building: 'Library', http } }))
  return join(folder, 'aps.json')
}

test('an address that no line tells comes from the access point, once for all its stations', async () => {
  const asked: (string | undefined)[] = []
  const file = await accessPoint('ap1', ({ url }, response) => {
    asked.push(url)
    response.end(JSON.stringify([1, 2].map((i) => ({ mac: `02:00:00:00:00:0${i}`, ip: `192.0.2.${i}` }))))
  })
  const { port, lines, until, stop } = await program('--aps', file)
  const line = '<14>Nov 17 07:23:58 ap1 hostapd: wlan0: STA 02:00:00:00:00:01 IEEE 802.11: associated'
  await sendUdp(port, line, END)
  await until(() => lines.some(isLast))
  expect(lines.map(({ station, ap, ip, action }) => [action, station, ap, ip])).toEqual([
    ['joined', '02:00:00:00:00:01', 'ap1', '192.0.2.1'],
    ['joined', '02:00:00:00:00:02', 'ap1', '192.0.2.2'],
    ['joined', LAST, 'end', null],
  ])
  expect(asked).toEqual(['/stations'])
  await stop()
})

test('while an access point is slow to answer, the policy decides what is lost, and the receipt is exact', async () => {
  const file = await accessPoint('slow', (_, response) => void setTimeout(() => response.end('[]'), 3_000))
  const { port, lines, until, stop } = await program('--aps', file, '--queue', '20')
  const line = (host: string, i: number) =>
    `<14>Nov 17 07:23:58 ${host} hostapd: wlan0: STA 02:00:00:00:${String(i % 100).padStart(2, '0')}:00 IEEE 802.11: associated\n`
  await sendTcp(
    port,
    line('slow', 0) + Array.from({ length: 400 }, (_, i) => line(`ap${i % 30}`, i)).join(''),
  )
  await sendTcp(port, `${END}\n`)
  await until(() => lines.some(isLast))
  const written = await stop()
  const [, dropped] = /, (\d+) dropped by the policy \(packed at level/.exec(written) ?? []
  expect(Number(dropped)).toBeGreaterThan(300)
  expect(written).toMatch(/in gaps = 402: exact/)
})

test.each([
  [['--help'], 0, /^Usage: npm start/],
  [['--sylog', '5'], 2, /^unknown option "--sylog" \(did you mean "--syslog"\?\)\n\nUsage: npm start/],
  [['--seconds', '0'], 2, /^--seconds: expected a number above 0, up to 2000000, got "0"/],
  [['--syslog', '70000'], 2, /^--syslog: expected a port, from 0 to 65535, got "70000"/],
  [['--syslog'], 2, /^--syslog needs a value/],
  [['--json=yes'], 2, /^--json takes no value, got "yes"/],
  [['5514'], 2, /^expected only options, got 5514/],
  [['--aps', 'nowhere.json'], 1, /^nowhere.json: ENOENT/],
])('%j says how to use it', (argv, code, text) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...argv], { encoding: 'utf8' })
  expect({ status, text: stdout + stderr }).toEqual({ status: code, text: expect.stringMatching(text) })
})
