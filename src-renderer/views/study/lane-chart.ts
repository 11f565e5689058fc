import { niceStep } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  label,
  plane,
  planeAxes,
  roundTicks,
  axisTip,
  tooltipBody,
  words,
  type ChartSize,
  type Plane,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed, signed } from '../../format/numbers.ts';
import type { GroupRow } from './preview.svelte.ts';

export interface LaneInput {
  readonly rows: readonly GroupRow[];
  readonly before: { readonly rows: readonly GroupRow[]; readonly label: string } | null;
  readonly axisTitle: string;
}

export function laneChart({ rows, before, axisTitle }: LaneInput, theme: ChartTheme, size: ChartSize): EChartsOption {
  const { height } = size;
  const costs = rows.map(({ laneCost }) => laneCost);
  const best = costs.indexOf(Math.min(...costs));
  const low = Math.min(...costs, ...(before?.rows.map(({ laneCost }) => laneCost) ?? []));
  const high = Math.max(...costs, low * 1.02);
  const step = niceStep(high - low, 4);
  // One far point would flatten the new curve, so the old curve may leave the plot at the top. Labels need room below
  // the curve.
  const room = Math.max(0.6 * step, ((high - low) * 26) / Math.max(1, height - 86));
  const yMin = Math.max(0, Math.floor((low - room) / step) * step);
  const yMax = high + 0.04 * (high - yMin);
  const area = plane(
    size,
    { left: 40, right: 22, top: 22, bottom: 38 },
    { low: -0.4, high: rows.length - 0.75 },
    { low: yMin, high: yMax },
  );
  const blue = theme.series[0];
  const beforeShown = before?.rows.findLastIndex(({ laneCost }) => laneCost <= yMax) ?? -1;
  // A label must not lie on the line, so it is below a flat part, and on the falling side of a steep part.
  const steep = (from: number, to: number) => Math.abs(costs[to] - costs[from]) > 0.14 * (yMax - yMin);
  const labelSide = (i: number) => {
    if (i < best && steep(i, i + 1)) return 'right' as const;
    if (i > best && steep(i - 1, i)) return 'left' as const;
    return ((costs[i] - yMin) / (yMax - yMin)) * (height - 60) < 24 ? ('top' as const) : ('bottom' as const);
  };
  return {
    ...planeAxes(theme, area, {
      x: { ticks: [...rows.keys()], format: (i) => String(rows[i].threadsPerUnit), bold: new Set([best]) },
      y: roundTicks(area.yRange, step),
    }),
    tooltip: axisTip(theme, 'none', ({ value }) => {
      const row = rows[value[0]];
      if (!row) return '';
      return tooltipBody(`${row.threadsPerUnit} × ${row.unitsPerGroup}`, '', [
        { label: 'Lane cost', value: fixed(row.laneCost, 3) },
        { label: 'to cheapest', value: `${signed((row.laneCost / costs[best] - 1) * 100)} %` },
        { label: 'Aggregate loss', value: fixed(row.aggregateLoss, 3) },
        { label: 'Cost of sharing', value: fixed(row.laneCost / row.aggregateLoss, 3) },
      ]);
    }),
    series: [
      ...(before ? [lineBefore(before, theme)] : []),
      {
        type: 'line' as const,
        data: rows.map(({ laneCost }, i) => ({
          value: [i, laneCost],
          symbolSize: i === best ? 10 : 6,
          itemStyle:
            i === best
              ? { color: blue, borderColor: blue }
              : { color: theme.colour.bg, borderColor: blue, borderWidth: 1.5 },
          label: {
            show: true,
            ...label(theme, i === best ? 'text' : 'text-2'),
            fontWeight: i === best ? (600 as const) : (400 as const),
            formatter: fixed(laneCost, 3),
            position: labelSide(i),
            distance: 7,
          },
        })),
        symbol: 'circle',
        showAllSymbol: true,
        lineStyle: { color: blue, width: 1.75 },
        z: 3,
      },
    ],
    graphic: [
      ...axisTitles(theme, area, { x: axisTitle }),
      ...(before && beforeShown >= 0 ? [nameOfBefore(before, beforeShown, area, costs[beforeShown], theme)] : []),
    ],
  };
}

function lineBefore(before: NonNullable<LaneInput['before']>, theme: ChartTheme) {
  return {
    type: 'line' as const,
    silent: true,
    symbol: 'none',
    data: before.rows.map(({ laneCost }, i) => [i, laneCost]),
    lineStyle: { color: theme.colour['text-3'], width: 1.5, type: [2, 3] as [number, number] },
  };
}

function nameOfBefore(
  before: NonNullable<LaneInput['before']>,
  at: number,
  area: Plane,
  cost: number,
  theme: ChartTheme,
) {
  const was = before.rows[at].laneCost;
  // With fewer than three points in the plot, there is room for the name only on the right.
  const isLeft = at >= 2;
  return words(
    theme,
    area.x(at) + (isLeft ? -10 : 10),
    area.y(was) + (was < cost || !isLeft ? 12 : -10),
    before.label,
    { halo: true, align: isLeft ? 'right' : 'left' },
  );
}
