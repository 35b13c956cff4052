// A figure of the papers: a table, and the plots beside it.
import type { Bars, Panel, Series } from '../plot.ts'

export interface Figure {
  /** The SVG is docs/pull-NAME.svg. */
  readonly name: string
  readonly title: string
  readonly rows: readonly object[]
  readonly panels: readonly (Panel | Bars)[]
}

const COLOURS = ['#888', '#1f6fb4', '#2a9d4e', '#c2452d', '#8a4fbf', '#c99a1b', '#2bb3b3']

/** Series in colours of their own. */
export function seriesOf(
  style: Series['style'],
  points: Readonly<Record<string, Series['points']>>,
): Series[] {
  return Object.entries(points).map(([name, one], i) => ({
    name,
    colour: COLOURS[i % COLOURS.length]!,
    style,
    points: one,
  }))
}

/** The share of values at most x, as points of a line. */
export function cumulative(values: readonly number[]): [number, number][] {
  const sorted = values.toSorted((a, b) => a - b)
  const steps = Math.min(200, sorted.length)
  return Array.from({ length: steps }, (_, i) => {
    const at = Math.ceil(((i + 1) * sorted.length) / steps) - 1
    return [sorted[at]!, (at + 1) / sorted.length]
  })
}

export function rounded(value: number, digits = 2): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}

/** Where the real traces are, beside the project. */
export const SHARED_DATA = new URL('../../../shared/data/', import.meta.url)

/** Every figure with its table beside it, as Markdown. */
export function pageOf(figures: readonly Figure[]): string {
  const head = [
    '# The figures of pull, each with its table',
    'Written by `npm run bench -- pull`; what they say is in [bench/README.md](../bench/README.md#pull).',
  ]
  return `${[...head, ...figures.map(sectionOf)].join('\n\n')}\n`
}

function sectionOf({ name, title, rows, panels }: Figure): string {
  const heading = `## ${name}: ${title}`
  const plot = panels.length === 0 ? [] : [`![${name}](pull-${name}.svg)`]
  return [heading, ...plot, tableOf(rows)].join('\n\n')
}

function tableOf(rows: readonly object[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`
  const cellsOf = (row: object) => columns.map((column) => (row as Record<string, unknown>)[column] ?? '')
  return [line(columns), line(columns.map(() => '---')), ...rows.map((row) => line(cellsOf(row)))].join('\n')
}
