// Plots as SVG: panels below one another, each with axes and series of points or steps.

export interface Series {
  readonly name: string
  readonly colour: string
  readonly points: readonly (readonly [x: number, y: number])[]
  readonly style: 'dots' | 'line'
}

export interface Panel {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly series: readonly Series[]
}

const WIDTH = 760
const HEIGHT = 230
const LEFT = 64
const RIGHT = 16
const TOP = 42
const BOTTOM = 40

/** The panels as one SVG document, black on white so that it reads anywhere. */
export function svgOf(panels: readonly Panel[]): string {
  const height = panels.length * HEIGHT
  const body = panels.map((panel, i) => `<g transform="translate(0 ${i * HEIGHT})">${panelOf(panel)}</g>`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

function panelOf({ title, x, y, series }: Panel): string {
  const points = series.flatMap((one) => one.points)
  const right = stepUp(Math.max(...points.map((point) => point[0])))
  const top = stepUp(Math.max(...points.map((point) => point[1])))
  const place = ([px, py]: readonly [number, number]): readonly [number, number] => [
    Math.round((LEFT + (px / right.end) * (WIDTH - LEFT - RIGHT)) * 10) / 10,
    Math.round((HEIGHT - BOTTOM - (py / top.end) * (HEIGHT - TOP - BOTTOM)) * 10) / 10,
  ]
  return [
    text(LEFT, 18, title, 'font-weight="bold"'),
    ...legendOf(title, series),
    ...ticksOf(right, (value) => {
      const [at] = place([value, 0])
      return text(at, HEIGHT - BOTTOM + 16, label(value), 'text-anchor="middle"')
    }),
    ...ticksOf(top, (value) => {
      const [, at] = place([0, value])
      const line = `<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#ddd"/>`
      return line + text(LEFT - 6, at + 4, label(value), 'text-anchor="end"')
    }),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x, 'text-anchor="middle"'),
    `<text transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${y}</text>`,
    ...series.map((one) => drawn(one, place)),
  ].join('\n')
}

function drawn(
  { points, colour, style }: Series,
  place: (point: readonly [number, number]) => readonly [number, number],
): string {
  if (style === 'line') {
    const path = points.map((point) => place(point).join(' ')).join('L')
    return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`
  }
  const dots = points.map((point) => `M${place(point).join(' ')}h0`).join('')
  return `<path d="${dots}" stroke="${colour}" stroke-width="3" stroke-linecap="round"/>`
}

/** A character is about so wide. */
const CHARACTER = 6

/** The names of the series from the right, each as wide as it is; what does not fit beside the title goes below. */
function legendOf(title: string, series: readonly Series[]): string[] {
  const room = WIDTH - RIGHT - LEFT - CHARACTER * (title.length + 4)
  let used = 0
  let row = 0
  return series.toReversed().map(({ name, colour }) => {
    const width = CHARACTER * (name.length + 4)
    if (row === 0 && used + width > room) {
      row = 1
      used = 0
    }
    used += width
    return text(
      WIDTH - RIGHT - used + width,
      18 + 14 * row,
      `● ${name}`,
      `fill="${colour}" text-anchor="end"`,
    )
  })
}

interface Axis {
  readonly end: number
  readonly step: number
}

/** About five steps of 1, 2 or 5 times a power of ten. */
function stepUp(most: number): Axis {
  const rough = Math.max(most, 1e-9) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!
  return { step, end: Math.ceil(most / step) * step }
}

function ticksOf({ end, step }: Axis, draw: (value: number) => string): string[] {
  return Array.from({ length: Math.round(end / step) + 1 }, (_, i) => draw(i * step))
}

function label(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${content}</text>`
}
