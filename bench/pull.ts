// The figures of the DPT, EasiCrawl and active-control papers, each with its table; the plots are docs/pull-*.svg, and
// docs/pull-figures.md has every plot with its table.
import { existsSync, writeFileSync } from 'node:fs'
import type { BenchOptions } from './main.ts'
import { svgOf } from './plot.ts'
import { activeControl } from './pull/control-figures.ts'
import { caseStudy } from './pull/crawl-case.ts'
import {
  crawlFigure4,
  crawlFigure5,
  crawlFigure6,
  crawlFigure7,
  crawlFigure8,
  crawlFigure9,
  crawlSpeed,
} from './pull/crawl-figures.ts'
import { type Figure, pageOf, SHARED_DATA } from './pull/figure.ts'
import { modelFit } from './pull/fit-figures.ts'
import { figure4, figure23, reliability } from './pull/model-figures.ts'
import {
  bestBesideDpt,
  devices,
  figure14,
  figure21,
  figure22,
  figure24,
  overDevices,
  type Traces,
} from './pull/trace-figures.ts'
import { readTraces } from './pull/traces.ts'

/** A reliable sensor and an unreliable one; three of nearly one period. */
const RELIABLE = '15092'
const UNRELIABLE = '24543'
const THREE = ['5331', '15092', '22480']
const LORAWAN = ['ems-b1c1', 'wyres-32', 'wyres-33', 'imst-c727b']

const DOCS = new URL('../docs/', import.meta.url)

/** Prints every figure as a table, or as a JSON line; draws them unless it is `small`. */
export function run({ json, small }: BenchOptions): void {
  const figures = [...modelled(small), ...real(small)].map((make) => {
    const figure = make()
    show(figure, json)
    if (!small && figure.panels.length > 0)
      writeFileSync(new URL(`pull-${figure.name}.svg`, DOCS), svgOf(figure.panels))
    return figure
  })
  // Without the real traces it would lose their figures.
  if (existsSync(SHARED_DATA)) {
    if (!small) writeFileSync(new URL('pull-figures.md', DOCS), pageOf(figures))
  } else console.error('skipped the figures from real traces: ../shared/data is not there')
}

function modelled(small: boolean): (() => Figure)[] {
  return [
    () => figure4(small),
    () => reliability(19, 0.6, small),
    () => reliability(20, 0.8, small),
    () => figure23(small),
    () => crawlFigure4(small),
    () => crawlFigure5(small),
    () => crawlFigure6(small),
    () => crawlFigure7(small),
    () => crawlFigure8(small),
    () => crawlFigure9(small),
    crawlSpeed,
    () => activeControl(small),
  ]
}

function real(small: boolean): (() => Figure)[] {
  // Small runs are for tests, which have tests of their own for the real traces.
  if (small || !existsSync(SHARED_DATA)) return []
  const traces: Traces = readTraces(SHARED_DATA)
  const air = [...traces.keys()].filter((name) => /^\d{4,5}$/.test(name))
  return [
    () => modelFit(traces),
    () => figure14(14, RELIABLE, traces),
    () => figure14(15, UNRELIABLE, traces),
    () => devices('figure-16', 'Figure 16: citizen air sensors', air, traces),
    () => devices('figure-17', 'Figure 17: LoRaWAN devices', LORAWAN, traces),
    () => devices('figure-18', 'Figure 18: an energy-harvesting node', ['3B06'], traces),
    () => figure21(RELIABLE, traces),
    () => figure22(RELIABLE, traces),
    () => figure24(THREE, traces),
    () => overDevices(traces),
    () => bestBesideDpt(traces),
    () => caseStudy(SHARED_DATA),
  ]
}

function show({ name, title, rows }: Figure, json: boolean): void {
  if (json) {
    console.log(JSON.stringify({ figure: name, title, rows }))
    return
  }
  console.log(`\n${title}`)
  console.table(rows)
}
