// The Wi-Fi locator, the application that the paper was written for (PACK section 7): `npm start`.
import { setTimeout as timer } from 'node:timers/promises'
import { AccessPoints, AccessPointsError, readAccessPoints } from './access-points.ts'
import { type Audience, startAudience } from './audience.ts'
import { GeneratedCampus } from './campus/generated.ts'
import { type Location, locationOf } from './events.ts'
import { type Options, optionsOf, USAGE, UsageError } from './options.ts'
import { startWorld, type World, watchLocations } from './world.ts'

/** For what was received before the end; who was interrupted is not kept waiting for it. */
const REST_MS = 10_000
const INTERRUPTED_REST_MS = 1_000
const REPORT_EVERY_MS = 10_000
/** As long as a timer can wait. */
const NEVER_MS = 2_147_483_647
/** Why a port cannot be listened on: nothing is wrong with the program then. */
const PORT_TROUBLE = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL']

/** Aborts at Ctrl-C. One that comes later ends the process at once. */
const interruption = new AbortController()
/** npm passes it on to whom the terminal has sent it already: it is one and the same. */
const ECHO_MS = 1_000
let interruptedAt = 0
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    if (!interruption.signal.aborted) interruptedAt = performance.now()
    else if (performance.now() - interruptedAt > ECHO_MS) process.exit(1)
    interruption.abort()
  })

// Whoever reads the output may stop reading, as `head` does.
process.stdout.on('error', () => interruption.abort())

process.exitCode = await main()

/** Returns the exit code. */
async function main(): Promise<number> {
  try {
    const options = optionsOf(process.argv.slice(2))
    if (options === 'help') process.stdout.write(USAGE)
    else await run(options)
    return 0
  } catch (error) {
    if (interruption.signal.aborted && (error as Error).name === 'AbortError') return 0
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${USAGE}`)
      return 2
    }
    const { code, message } = error as NodeJS.ErrnoException
    if (!(error instanceof AccessPointsError) && !PORT_TROUBLE.includes(code ?? '')) throw error
    console.error(message)
    return 1
  }
}

async function run(options: Options): Promise<void> {
  const { aps: file, syslogPort, isJson, isCampus, speed, answers, seconds, queue } = options
  const listed = file === undefined ? new AccessPoints() : await readAccessPoints(file)
  const say = isJson ? console.error : console.log
  const campus = isCampus ? await GeneratedCampus.open({ speed, answers }) : undefined
  const aps = campus === undefined ? listed : new AccessPoints(Object.fromEntries([...campus.aps, ...listed]))
  const started: { close(): Promise<void> }[] = campus === undefined ? [] : [campus]
  const world = await startWorld({ aps, queue, signal: interruption.signal }).catch(async (error) => {
    await campus?.close()
    throw error
  })
  try {
    const shown = watchLocations(world)
    shown.handle({
      event: (event) => {
        const location = locationOf(event)
        if (isJson) process.stdout.write(`${jsonOf(location)}\n`)
        // A campus says too much for a terminal: it has the page.
        else if (!isCampus) say(inWords(location))
      },
    })
    await shown.subscribed
    if (!isJson) started.push(await showTo(world, options, campus))
    // Last of all: what arrives now is heard by everyone.
    await world.source.listen({ port: syslogPort })
    say(`Listening for syslog on port ${world.source.port}, UDP and TCP. Ctrl-C ends it.`)
    if (campus !== undefined) say(aboutCampus(campus))
    campus?.begin(world.source)
    const reports = setInterval(() => say(reportOf(world)), REPORT_EVERY_MS).unref()
    await timer(seconds === undefined ? NEVER_MS : seconds * 1_000, undefined, {
      signal: interruption.signal,
    }).catch(() => {})
    clearInterval(reports)
    // Its access points still answer, for what is on its way.
    campus?.stop()
    await rest(world, shown)
    say(`\n${reportOf(world)}\n${receiptOf(world)}`)
  } finally {
    for (const part of started) await part.close()
    await world.close()
  }
}

/** The page and what else listens to the locations; says where they are. */
async function showTo(
  world: World,
  options: Options,
  campus: GeneratedCampus | undefined,
): Promise<Audience> {
  const { page: port, bar: barPort, queue } = options
  const audience = await startAudience(world, { campus, port, barPort, queue })
  console.log(`The page:         ${audience.page}`)
  console.log(`The location bar: ${audience.bar}/where?ip=ADDRESS, and an HTTP proxy`)
  return audience
}

function aboutCampus({ ground, stations, speed }: GeneratedCampus): string {
  const { accessPoints, buildings } = ground
  const size = `${accessPoints.length} access points in ${buildings.length} buildings, ${stations} stations`
  return `Generated campus: ${size}, none of which exist${speed === 1 ? '' : `; ${speed} times as fast as real time`}. --no-campus leaves it out.`
}

/** The source ends; what it has said reaches the locator, and what that says the audience, if there is time for it. */
async function rest({ source, locator }: World, shown: ReturnType<typeof watchLocations>): Promise<void> {
  const late = new AbortController()
  const limit = timer(interruption.signal.aborted ? INTERRUPTED_REST_MS : REST_MS, 'late', {
    signal: late.signal,
  })
  const done = async () => {
    await source.close()
    await locator.finished(late.signal)
    await locator.close()
    while (!late.signal.aborted && !shown.isEnded) await timer(20)
  }
  await Promise.race([done(), limit])
  late.abort()
  limit.catch(() => {})
}

function jsonOf({ station, ap, ip, action, at }: Location): string {
  return JSON.stringify({ station, ap, ip, action, time: at })
}

function inWords({ station, ap, building, ip, action, at }: Location): string {
  const place = building === null ? ap : `${ap} in ${building}`
  const verb = { joined: 'is at', moved: 'moved to', left: 'left' }[action]
  return `${new Date(at).toISOString()} ${station}${ip === null ? '' : ` (${ip})`} ${verb} ${place}`
}

function reportOf({ source, locator }: World): string {
  const { lines, understood, unknown, lost, cut } = source.counts
  const { events, dropped, locations, packs } = locator.counts
  const { asked, failed, lastFailure } = locator.lists.counts
  const unknownLine = source.unknownLines.at(-1)
  return [
    `${lines} lines: ${understood} understood, ${unknown} not${lost + cut > 0 ? `, ${lost} lost, ${cut} cut` : ''}`,
    ...(unknownLine === undefined ? [] : [`  the last that was not: ${unknownLine.line}`]),
    `${events} events taken, ${dropped} dropped by the policy${packsInWords(packs)}; ${locations} locations`,
    ...(asked > 0
      ? [
          `${asked} questions to access points, ${failed} failed${lastFailure === null ? '' : `: ${lastFailure}`}`,
        ]
      : []),
  ].join('\n')
}

function packsInWords(packs: { [level: string]: number }): string {
  const counts = Object.entries(packs).sort(([a], [b]) => a.localeCompare(b))
  return counts.length === 0
    ? ''
    : ` (packed at ${counts.map(([level, count]) => `${level}: ${count}`).join(', ')})`
}

function receiptOf({ locator }: World): string {
  const [receipt] = locator.subscription.receipt
  if (receipt === undefined) return 'Nothing was published.'
  const { first, last, delivered, digested, gaps } = receipt
  const isExact = delivered + digested + gaps === last - first + 1
  return `The locator's receipt: ${delivered} delivered + ${digested} in digests + ${gaps} in gaps = ${last - first + 1}: ${isExact ? 'exact' : 'WRONG'}`
}
