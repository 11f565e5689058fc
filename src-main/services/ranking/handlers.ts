import { ok, conflict } from '../../../src-workers/domain/result.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { timeRanges } from '../advice/interval.ts';
import { bestDesigns } from './best.ts';
import { compareDevices } from './compare.ts';
import { landscapeAxes, landscapeFacets, landscapeGrid, parallelSample, roofline } from './landscape.ts';
import { designSlices, findEquals, plainOf, rankedDesign, rankHistogram, rankPage } from './pages.ts';
import { checkDesign } from './rows.ts';

export function rankingHandlers({
  pool,
  views: { read },
}: Context): Handlers<ProceduresOf<'ranking' | 'landscape' | 'compare' | 'design'>> {
  const readGroups: typeof read = (runId, body) =>
    read(runId, async (view) => {
      await findEquals(pool, view);
      return body(view);
    });
  return {
    'ranking.page': (input) => (input.groups ? readGroups : read)(input.runId, (view) => rankPage(view, input)),
    'ranking.best': (input) => (input.groups ? readGroups : read)(input.runId, (view) => bestDesigns(view, input)),
    'ranking.histogram': (input) => read(input.runId, (view) => rankHistogram(view, input)),
    'ranking.design': (input) => read(input.runId, (view) => rankedDesign(view, input)),
    'ranking.plain': (input) => read(input.runId, (view) => plainOf(view, input.deviceId)),
    'ranking.slices': ({ runId, designIndex }) => read(runId, (view) => designSlices(view, designIndex)),
    'landscape.grid': (input) => read(input.runId, (view) => landscapeGrid(view, input)),
    'landscape.facets': (input) => read(input.runId, (view) => landscapeFacets(view, input)),
    'landscape.parallel': (input) => read(input.runId, (view) => parallelSample(view, input)),
    'landscape.roofline': (input) => read(input.runId, (view) => roofline(view, input)),
    'landscape.axes': ({ runId }) => read(runId, (view) => ok(landscapeAxes(view))),
    'compare.devices': ({ runId, designIndex }) => read(runId, (view) => compareDevices(view, designIndex)),
    'compare.ranges': ({ runId, designs }) => read(runId, (view) => timeRanges(pool, view, designs)),
    'design.explain': ({ runId, designIndex }) =>
      read(runId, (view) => {
        const known = checkDesign(view, designIndex);
        if (!known.ok) return known;
        const breakdown = explainDesign(view.predictor, designIndex);
        return breakdown ? ok(breakdown) : conflict(`Design ${designIndex} is invalid, so it has no time to explain.`);
      }),
  };
}
