// Where buildings and access points stand on the page's map. Those whose coordinates nobody gave are put beside one
// another, building by building, so that one router at home has a map, too.

export interface MapBuilding {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface MapAccessPoint {
  readonly name: string
  /** Index of its building. */
  readonly building: number
  readonly x: number
  readonly y: number
}

export interface CampusMap {
  readonly width: number
  readonly height: number
  readonly buildings: readonly MapBuilding[]
  readonly aps: readonly MapAccessPoint[]
}

/** As in an `--aps` file. */
export interface KnownAp {
  readonly building?: string | null
  readonly x?: number
  readonly y?: number
}

export type KnownBuilding = MapBuilding

/** Beyond, more access points are not drawn: names come from the network. */
export const MAX_APS = 4_000
/** Of those that nobody has listed. */
const NOWHERE = 'Building not known'
const MARGIN = 24
const GAP = 32
/** An access point without coordinates has so much room. */
const CELL = 44
/** Rows of buildings without coordinates are at least so wide. */
const ROW_WIDTH = 640
/** One router alone is not drawn larger than this. */
const LEAST_WIDTH = 260
const LEAST_HEIGHT = 160

/** The map of these access points; buildings whose outline is known have it, the others go around theirs. */
export function layOut(
  known: ReadonlyMap<string, KnownAp>,
  outlines: readonly KnownBuilding[] = [],
): CampusMap {
  const buildings = new Map(outlines.map((one) => [one.name, one]))
  const placed: Placed[] = []
  const nowhere: [name: string, home: string][] = []
  for (const [name, { building, x, y }] of [...known].slice(0, MAX_APS)) {
    const home = building ?? NOWHERE
    if (isNumber(x) && isNumber(y)) placed.push({ name, home, x, y })
    else nowhere.push([name, home])
  }
  surround(placed, buildings)
  const shift = toOrigin(placed, buildings)
  const fixed = [...buildings.values()].map((one) => ({ ...one, x: one.x + shift.x, y: one.y + shift.y }))
  const all = placed.map((one) => ({ ...one, x: one.x + shift.x, y: one.y + shift.y }))
  const bottom = Math.max(0, ...fixed.map(({ y, height }) => y + height + GAP))
  const rowWidth = Math.max(ROW_WIDTH, ...fixed.map((one) => one.x + one.width + MARGIN))
  const grid = inRows(
    Map.groupBy(nowhere, ([, home]) => home),
    Math.max(MARGIN, bottom),
    rowWidth,
  )
  const list = [...fixed, ...grid.buildings]
  const indexes = new Map(list.map(({ name }, i) => [name, i]))
  const aps = [...all, ...grid.placed].map(({ name, home, x, y }) => ({
    name,
    building: indexes.get(home)!,
    x,
    y,
  }))
  const width = Math.max(LEAST_WIDTH, ...list.map((one) => one.x + one.width + MARGIN))
  const height = Math.max(LEAST_HEIGHT, ...list.map((one) => one.y + one.height + MARGIN))
  return { width: Math.round(width), height: Math.round(height), buildings: list, aps }
}

interface Placed {
  readonly name: string
  readonly home: string
  readonly x: number
  readonly y: number
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

/** Buildings of which only access points are known get an outline around them. */
function surround(placed: readonly Placed[], buildings: Map<string, MapBuilding>): void {
  const points = Map.groupBy(placed, ({ home }) => home)
  for (const [name, inside] of points) {
    if (buildings.has(name)) continue
    const xs = inside.map(({ x }) => x)
    const ys = inside.map(({ y }) => y)
    const x = Math.min(...xs) - MARGIN
    const y = Math.min(...ys) - MARGIN
    buildings.set(name, {
      name,
      x,
      y,
      width: Math.max(...xs) + MARGIN - x,
      height: Math.max(...ys) + MARGIN - y,
    })
  }
}

/** How far everything has to move so that it begins at the margin. */
function toOrigin(
  placed: readonly Placed[],
  buildings: ReadonlyMap<string, MapBuilding>,
): { x: number; y: number } {
  if (buildings.size === 0) return { x: 0, y: 0 }
  const list = [...buildings.values(), ...placed]
  return {
    x: MARGIN - Math.min(...list.map(({ x }) => x)),
    y: MARGIN - Math.min(...list.map(({ y }) => y)),
  }
}

/** Buildings as rows of cells, below everything else. */
function inRows(
  homeless: ReadonlyMap<string, readonly (readonly [name: string, home: string])[]>,
  top: number,
  width: number,
) {
  const buildings: MapBuilding[] = []
  const placed: Placed[] = []
  let x = MARGIN
  let y = top
  let rowHeight = 0
  for (const [home, names] of homeless) {
    const columns = Math.max(
      3,
      Math.min(Math.ceil(Math.sqrt(names.length * 1.6)), Math.floor((width - 2 * MARGIN) / CELL)),
    )
    const size = { width: columns * CELL, height: Math.max(2, Math.ceil(names.length / columns)) * CELL }
    if (x > MARGIN && x + size.width > width - MARGIN) {
      x = MARGIN
      y += rowHeight + GAP
      rowHeight = 0
    }
    buildings.push({ name: home, x, y, ...size })
    names.forEach(([name], i) => {
      const column = i % columns
      placed.push({ name, home, x: x + (column + 0.5) * CELL, y: y + (Math.floor(i / columns) + 0.5) * CELL })
    })
    x += size.width + GAP
    rowHeight = Math.max(rowHeight, size.height)
  }
  return { buildings, placed }
}
