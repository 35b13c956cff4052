// Section 5.2 of the DPT paper: how well the publishing model fits real traces (its Figures 9 and 11).
import { CHI_SQUARED_LIMIT, failureError, jitterError } from '../../endpoints/pull/goodness-of-fit.ts'
import { fitModel } from '../../endpoints/pull/publishing-model.ts'
import { cumulative, type Figure, rounded, seriesOf } from './figure.ts'
import type { Traces } from './trace-figures.ts'

export function modelFit(traces: Traces): Figure {
  const fits = [...traces].map(([device, trace]) => {
    const model = fitModel(trace)!
    return { device, model, failure: failureError(model), jitter: jitterError(trace, model.intervalMs) }
  })
  const rows = fits.map(({ device, model, failure, jitter }) => ({
    device,
    'interval s': rounded(model.intervalMs / 1000, 1),
    pss: rounded(model.pss, 3),
    pfs: rounded(model.pfs, 3),
    'jitter s': rounded(model.jitterMs / 1000),
    outages: model.outages,
    'chi2 Markov': rounded(failure.markov, 1),
    'chi2 geometric': rounded(failure.geometric, 0),
    'chi2 no failure': rounded(failure.noFailure, 0),
    fits: failure.markov < CHI_SQUARED_LIMIT,
    'K-S Laplace': rounded(jitter.laplace, 3),
    'K-S normal': rounded(jitter.normal, 3),
  }))
  const log = (value: number) => Math.log10(1 + value)
  const failures = {
    Markov: cumulative(fits.map(({ failure }) => log(failure.markov))),
    geometric: cumulative(fits.map(({ failure }) => log(failure.geometric))),
    'no failure': cumulative(fits.map(({ failure }) => log(failure.noFailure))),
  }
  const jitters = {
    Laplace: cumulative(fits.map(({ jitter }) => jitter.laplace)),
    normal: cumulative(fits.map(({ jitter }) => jitter.normal)),
  }
  return {
    name: 'model-fit',
    title: `The publishing model fitted to each device (chi-squared limit ${CHI_SQUARED_LIMIT})`,
    rows,
    panels: [
      {
        title: 'Figure 9',
        x: 'log10(1 + chi-squared)',
        y: 'share of devices',
        series: seriesOf('line', failures),
      },
      {
        title: 'Figure 11',
        x: 'K-S distance of the jitter',
        y: 'share of devices',
        series: seriesOf('line', jitters),
      },
    ],
  }
}
