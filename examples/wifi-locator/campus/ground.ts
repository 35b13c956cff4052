// The ground of the generated campus: buildings beside one another on a map, and the access points in them. The same
// seed makes the same campus.

/** What a building is for: it decides when who is in it. */
export type Use = 'residence' | 'academic' | 'library' | 'dining' | 'office' | 'sports'

export interface Building {
  readonly name: string
  readonly use: Use
  /** On the map, in metres from its upper left corner. */
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface AccessPoint {
  /** As its lines say who they are from. */
  readonly name: string
  readonly mac: string
  readonly building: Building
  readonly x: number
  readonly y: number
  /** What it runs: that decides how its lines look. */
  readonly system: 'ios' | 'hostapd'
}

export interface Ground {
  readonly width: number
  readonly height: number
  readonly buildings: readonly Building[]
  readonly accessPoints: readonly AccessPoint[]
}

/** As many as the campus of the paper has. */
export const ACCESS_POINTS = 550
const WIDTH_M = 1_200
const HEIGHT_M = 800
/** Blocks between the paths; one in the middle stays a green. */
const COLUMNS = 8
const ROWS = 6
const PATH_M = 16
/** Share of the buildings whose access points run hostapd: those that were built last. */
const HOSTAPD_SHARE = 0.45

/** How many of each use, for a campus whose students mostly live on it. */
const USES: readonly (readonly [Use, number])[] = [
  ['residence', 16],
  ['academic', 14],
  ['office', 6],
  ['library', 3],
  ['dining', 3],
  ['sports', 3],
]

const NAMES: Readonly<Record<Use, readonly string[]>> = {
  residence:
    'Alder Ash Aspen Beech Birch Cedar Cherry Elm Fir Hazel Hickory Juniper Larch Linden Maple Rowan'.split(
      ' ',
    ),
  academic:
    'Abel Boole Curie Darwin Euler Faraday Gauss Hopper Lovelace Noether Pascal Planck Raman Turing'.split(
      ' ',
    ),
  office: ['Gate House', 'North Office', 'Registry', 'South Office', 'Treasury', 'Works'],
  library: ['Main Library', 'Map Library', 'Science Library'],
  dining: ['Commons', 'Mill Kitchen', 'Orchard'],
  sports: ['Boathouse', 'Field House', 'Pool'],
}

const SUFFIX: Readonly<Partial<Record<Use, string>>> = { residence: ' Hall', academic: ' Building' }

/** The campus that this chance makes. */
export function groundOf(random: () => number, count = ACCESS_POINTS): Ground {
  const buildings = buildingsOf(random)
  const areas = buildings.map(({ width, height }) => width * height)
  const total = areas.reduce((sum, area) => sum + area, 0)
  const accessPoints: AccessPoint[] = []
  let due = 0
  buildings.forEach((building, i) => {
    due += (areas[i]! / total) * count
    const upTo = i === buildings.length - 1 ? count : Math.round(due)
    accessPoints.push(...accessPointsOf(building, accessPoints.length, upTo, random))
  })
  return { width: WIDTH_M, height: HEIGHT_M, buildings, accessPoints }
}

/** One in each block, but for the green, uses spread by chance. */
function buildingsOf(random: () => number): Building[] {
  const uses = USES.flatMap(([use, count]) => Array.from({ length: count }, (_, i) => ({ use, i })))
  shuffle(uses, random)
  const blocks = Array.from({ length: COLUMNS * ROWS }, (_, at) => [at % COLUMNS, Math.floor(at / COLUMNS)])
  const built = blocks.filter(([column, row]) => !isGreen(column!, row!))
  return uses.slice(0, built.length).map(({ use, i }, at) => {
    const [column, row] = built[at] as [number, number]
    return placed(`${NAMES[use][i]}${SUFFIX[use] ?? ''}`, use, column, row, random)
  })
}

function isGreen(column: number, row: number): boolean {
  return row === 2 && (column === 3 || column === 4)
}

function placed(name: string, use: Use, column: number, row: number, random: () => number): Building {
  const blockWidth = WIDTH_M / COLUMNS
  const blockHeight = HEIGHT_M / ROWS
  const width = Math.round((blockWidth - 2 * PATH_M) * (0.7 + 0.3 * random()))
  const height = Math.round((blockHeight - 2 * PATH_M) * (0.65 + 0.35 * random()))
  const x = Math.round(column * blockWidth + PATH_M + (blockWidth - 2 * PATH_M - width) * random())
  const y = Math.round(row * blockHeight + PATH_M + (blockHeight - 2 * PATH_M - height) * random())
  return { name, use, x, y, width, height }
}

/** Spread over the building in rows; numbered within it, as people do who put them up. */
function accessPointsOf(building: Building, from: number, to: number, random: () => number): AccessPoint[] {
  const count = to - from
  const system = random() < HOSTAPD_SHARE ? 'hostapd' : 'ios'
  const columns = Math.max(1, Math.round(Math.sqrt((count * building.width) / building.height)))
  const rows = Math.ceil(count / columns)
  const stem = building.name
    .toLowerCase()
    .replace(/ (hall|building)$/, '')
    .replaceAll(' ', '-')
  return Array.from({ length: count }, (_, i) => {
    const x = building.x + ((i % columns) + 0.5 + 0.3 * (random() - 0.5)) * (building.width / columns)
    const y = building.y + (Math.floor(i / columns) + 0.5 + 0.3 * (random() - 0.5)) * (building.height / rows)
    const name = `ap-${stem}-${String(i + 1).padStart(2, '0')}`
    return { name, mac: macOf(0x06, from + i), building, system, x: Math.round(x), y: Math.round(y) }
  })
}

/** A locally administered address, which no maker gives away. */
export function macOf(kind: number, number: number): string {
  const bytes = [kind, 0xca, (number >> 24) & 255, (number >> 16) & 255, (number >> 8) & 255, number & 255]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}

function shuffle<T>(list: T[], random: () => number): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[list[i], list[j]] = [list[j]!, list[i]!]
  }
}
