// Plots as SVG: panels below one another, each with axes and series of points or steps, or with bars.

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

/** A number for each name, as bars beside one another. */
export interface Bars {
  readonly title: string
  readonly y: string
  readonly bars: readonly (readonly [name: string, value: number])[]
}

const WIDTH = 760
const HEIGHT = 230
const LEFT = 76
const RIGHT = 16
const TOP = 42
const BOTTOM = 40

/** The panels as one SVG document, black on white so that it reads anywhere. */
export function svgOf(panels: readonly (Panel | Bars)[]): string {
  const height = panels.length * HEIGHT
  const body = panels.map((panel, i) => {
    const drawing = 'bars' in panel ? barsOf(panel) : panelOf(panel)
    return `<g transform="translate(0 ${i * HEIGHT})">${drawing}</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

function panelOf({ title, x, y, series }: Panel): string {
  const points = series.flatMap((one) => one.points)
  const across = axisOf(points.map((point) => point[0]))
  const top = stepUp(0, Math.max(...points.map((point) => point[1])))
  const place = ([px, py]: readonly [number, number]): readonly [number, number] => [
    tenth(LEFT + ((px - across.start) / (across.end - across.start)) * (WIDTH - LEFT - RIGHT)),
    heightOf(py, top),
  ]
  return [
    text(LEFT, 18, title, 'font-weight="bold"'),
    ...legendOf(title, series),
    ...ticksOf(across, (value) => {
      const [at] = place([value, 0])
      return text(at, HEIGHT - BOTTOM + 16, label(value), 'text-anchor="middle"')
    }),
    ...linesOf(top, y),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x, 'text-anchor="middle"'),
    ...series.map((one) => drawn(one, place)),
  ].join('\n')
}

const BAR = '#1f6fb4'
/** Of the room for a bar. */
const BAR_WIDTH = 0.5

function barsOf({ title, y, bars }: Bars): string {
  const top = stepUp(0, Math.max(...bars.map(([, value]) => value)))
  const room = (WIDTH - LEFT - RIGHT) / bars.length
  return [
    text(LEFT, 18, title, 'font-weight="bold"'),
    ...linesOf(top, y),
    ...bars.flatMap(([name, value], i) => {
      const middle = tenth(LEFT + (i + 0.5) * room)
      const at = heightOf(value, top)
      const [x, width] = [tenth(middle - (BAR_WIDTH * room) / 2), tenth(BAR_WIDTH * room)]
      return [
        `<rect x="${x}" y="${at}" width="${width}" height="${tenth(HEIGHT - BOTTOM - at)}" fill="${BAR}"/>`,
        text(middle, at - 4, label(value), 'text-anchor="middle"'),
        ...wrapped(name, room).map((line, row) =>
          text(middle, HEIGHT - BOTTOM + 14 + 13 * row, line, 'text-anchor="middle" font-size="11"'),
        ),
      ]
    }),
  ].join('\n')
}

/** A name in lines that fit. */
function wrapped(name: string, room: number): string[] {
  const lines: string[] = []
  for (const word of name.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`.trim()
    if (lines.length > 0 && line.length * CHARACTER <= room) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines
}

/** The lines and numbers of an axis upwards, and what they are. */
function linesOf(axis: Axis, name: string): string[] {
  const numbers = ticksOf(axis, (value) => {
    const at = heightOf(value, axis)
    const line = `<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#ddd"/>`
    return line + text(LEFT - 6, at + 4, label(value), 'text-anchor="end"')
  })
  const middle = (TOP + HEIGHT - BOTTOM) / 2
  return [
    ...numbers,
    `<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle">${name}</text>`,
  ]
}

function heightOf(value: number, { end }: Axis): number {
  return tenth(HEIGHT - BOTTOM - (value / end) * (HEIGHT - TOP - BOTTOM))
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
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
const CHARACTER = 6.8

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
  readonly start: number
  readonly end: number
  readonly step: number
}

/** From 0 on, or from near the least where that would leave half of the axis empty. */
function axisOf(values: readonly number[]): Axis {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return stepUp(least > 0 && least >= most / 2 && least < most ? least : 0, most)
}

/** About five steps of 1, 2 or 5 times a power of ten. */
function stepUp(least: number, most: number): Axis {
  const rough = Math.max(most - least, 1e-9) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!
  return { step, start: Math.floor(least / step) * step, end: Math.ceil(most / step) * step }
}

function ticksOf({ start, end, step }: Axis, draw: (value: number) => string): string[] {
  return Array.from({ length: Math.round((end - start) / step) + 1 }, (_, i) => draw(start + i * step))
}

function label(value: number): string {
  return String(Math.round(value * 1000) / 1000)
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${content}</text>`
}
