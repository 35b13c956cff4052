// The locator's page in a real browser: it shows the devices that the locator published, moves them when they roam, and
// shows what the policy dropped. The README's picture is made here: PICTURE=1 npx vitest run --project browser
import { setTimeout as timer } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AccessPoints } from '../../examples/wifi-locator/access-points.ts'
import { type Audience, startAudience } from '../../examples/wifi-locator/audience.ts'
import { GeneratedCampus } from '../../examples/wifi-locator/campus/generated.ts'
import type { Location } from '../../examples/wifi-locator/events.ts'
import { startWorld, type World } from '../../examples/wifi-locator/world.ts'
import { executablePath, launch } from './chromium.ts'

/** Only when asked for: otherwise every run of the tests would change the working tree. */
const isPictureWanted = process.env.PICTURE !== undefined
const PICTURE = fileURLToPath(new URL('../../docs/wifi-locator.png', import.meta.url))
const ANY = { port: 0, isPreferred: false }
/** For what a page shows to follow what is published. */
const SOON = { timeout: 15_000, interval: 100 }

/** One of a page without a map is smaller. */
const LEAST_PICTURE_BYTES = 150_000
/** By then many have moved, and the predictor knows some. */
const PICTURE_AFTER_MS = 20_000

describe.skipIf(executablePath === undefined)('the page in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(async () => await browser.close())

  test('shows devices of real lines where they are, moves them, and takes them away', async () => {
    const running = await begin(browser, undefined)
    const { world, page } = running
    await expect.poll(() => page.locator('#live').textContent(), SOON).toBe('live')
    expect(await page.locator('#generated').isVisible()).toBe(false)
    says(world, 'ap-1', 'associated (aid 1)')
    await expect.poll(() => deviceAt(page), SOON).toMatchObject({ inside: 'Library' })
    const before = await deviceAt(page)
    says(world, 'ap-2', 'associated (aid 1)')
    await expect.poll(() => deviceAt(page), SOON).toMatchObject({ inside: 'Gym' })
    expect((await deviceAt(page))?.x).not.toBe(before?.x)
    await page.fill('#find', STATION.slice(-5))
    await expect.poll(() => page.locator('#device-name').textContent(), SOON).toBe(STATION)
    expect(await page.locator('#trail li').allTextContents()).toEqual([
      expect.stringContaining('Gym'),
      expect.stringContaining('Library'),
    ])
    says(world, 'ap-2', 'disassociated')
    await expect.poll(() => deviceAt(page), SOON).toBeUndefined()
    await expect.poll(() => page.locator('#device-where').textContent(), SOON).toContain('Has left')
    await running.end()
  })

  test('shows names from the network as text, whatever is in them', async () => {
    const running = await begin(browser, undefined)
    const { world, page } = running
    const evil = `<img/src=x/onerror=alert(1)>`
    world.locator.sender.publish({ ...LOCATION, ap: evil, building: '<script>alert(2)</script>' })
    await expect
      .poll(() => page.locator('#buildings').textContent(), SOON)
      .toContain('<script>alert(2)</script>')
    await page.fill('#find', STATION)
    await expect.poll(() => page.locator('#device-where').textContent(), SOON).toContain(evil)
    expect(await page.locator('aside img, aside script').count()).toBe(0)
    expect(running.alerts).toEqual([])
    await running.end()
  })

  test('shows the generated campus as one, thousands of devices, and what the policy dropped', async () => {
    const campus = await GeneratedCampus.open({ speed: 20, answers: 40 })
    const running = await begin(browser, campus)
    const { world, page, audience } = running
    const published = new Map<string, Location>()
    const moved: string[] = []
    world.locator.onLocation((location) => {
      if (location.action === 'moved') moved.push(location.station)
      published.set(location.station, location)
    })
    campus.begin(world.source)
    expect(await page.locator('#generated').textContent()).toContain('Generated campus')
    expect(await page.title()).toContain('Generated campus')
    const dropping = () => audience.status().dropped.filter(({ count }) => count > 0).length
    await expect.poll(dropping, { timeout: 40_000, interval: 200 }).toBeGreaterThanOrEqual(4)
    await expect.poll(() => moved.length, { timeout: 30_000, interval: 200 }).toBeGreaterThan(100)
    // A picture of a campus of which little is known yet would be empty: the access points tell who is there.
    await expect.poll(() => published.size, { timeout: 60_000, interval: 500 }).toBeGreaterThan(2_000)
    campus.stop()
    await timer(2_000)

    const present = [...published.values()].filter(({ action }) => action !== 'left')
    await expect.poll(() => numberIn(page, '#device-count'), SOON).toBe(present.length)
    for (const { station, building } of present.slice(-40))
      expect([station, (await deviceAt(page, station))?.inside]).toEqual([station, building])
    for (const { level, count } of audience.status().dropped)
      await expect.poll(() => numberIn(page, `#level-${level} .count`), SOON).toBe(count)
    expect(await page.locator('#receipt').textContent()).toContain('exact')
    expect(audience.status().receipt.isExact).toBe(true)

    // For the picture: some go on, and the one that went farthest is selected.
    campus.begin(world.source)
    await timer(isPictureWanted ? PICTURE_AFTER_MS : 2_000)
    const shown = mostOften(moved.filter((station) => published.get(station)?.action !== 'left'))
    await page.fill('#find', shown)
    await expect.poll(() => page.locator('#device-name').textContent(), SOON).toBe(shown)
    await page.locator('#find').blur()
    await timer(1_000)
    const picture = await page.screenshot(isPictureWanted ? { path: PICTURE } : {})
    expect(picture.length).toBeGreaterThan(LEAST_PICTURE_BYTES)
    expect(running.alerts).toEqual([])
    await running.end()
    await campus.close()
  }, 180_000)
})

const STATION = '02:00:00:00:00:07'
const LOCATION = { station: STATION, ip: '10.0.0.7', action: 'joined', at: 1 } as const

/** Two access points, if there is no campus. */
const HOME = new AccessPoints({
  'ap-1': { building: 'Library', x: 0, y: 0 },
  'ap-2': { building: 'Gym', x: 300, y: 120 },
})

interface Running {
  readonly world: World
  readonly audience: Audience
  readonly page: Page
  /** What the page said that it should not: errors, and dialogs. */
  readonly alerts: readonly string[]
  end(): Promise<void>
}

async function begin(browser: Browser, campus: GeneratedCampus | undefined): Promise<Running> {
  const { signal } = new AbortController()
  const queue = campus === undefined ? 2_000 : 100
  const world = await startWorld({ aps: campus?.aps ?? HOME, queue, signal })
  const audience = await startAudience(world, { campus, queue, port: ANY, barPort: ANY })
  const page = await browser.newPage({ viewport: { width: 1440, height: 980 }, colorScheme: 'light' })
  const alerts: string[] = []
  page.on('pageerror', (error) => alerts.push(error.message))
  page.on('dialog', (dialog) => {
    alerts.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(audience.page)
  await page.locator('#live[data-state=live]').waitFor()
  const end = async () => {
    await page.close()
    campus?.stop()
    await audience.close()
    await world.close()
  }
  return { world, audience, page, alerts, end }
}

function mostOften(names: readonly string[]): string {
  const counts = Map.groupBy(names, (name) => name)
  return [...counts.values()].reduce((most, one) => (one.length > most.length ? one : most))[0]!
}

function says({ source }: World, ap: string, what: string): void {
  source.feed(`<14>Nov 27 07:23:58 ${ap} hostapd: wlan0: STA ${STATION} IEEE 802.11: ${what}`, '192.0.2.1')
}

/** Where the map draws a device, and in which building that is. */
async function deviceAt(page: Page, station = STATION) {
  const map = page.locator('#map')
  return await map.evaluate((_canvas, wanted) => {
    // biome-ignore lint/suspicious/noExplicitAny: the page is JavaScript
    return (globalThis as any).locatorMap.whereIs(wanted) as
      | { x: number; y: number; inside: string }
      | undefined
  }, station)
}

async function numberIn(page: Page, selector: string): Promise<number> {
  return Number((await page.locator(selector).textContent())?.replaceAll(',', ''))
}
