/** The parts of ECharts that the charts use. Only registered parts are in the bundle. */
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AxisPointerComponent,
  GraphicComponent,
  GridComponent,
  LegendPlainComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { init, setPlatformAPI, use, type ECharts } from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

use([
  AxisPointerComponent,
  BarChart,
  CanvasRenderer,
  CustomChart,
  GraphicComponent,
  GridComponent,
  HeatmapChart,
  LegendPlainComponent,
  LineChart,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
  VisualMapComponent,
]);

// ECharts measures text outside the page, without its digit forms (tabular, slashed zero), so parts of a label would
// overlap. This function measures on a canvas inside the page.
let ruler: CanvasRenderingContext2D | null = null;
if (typeof document !== 'undefined')
  setPlatformAPI({
    measureText(text, font) {
      if (!ruler) {
        const canvas = document.createElement('canvas');
        canvas.hidden = true;
        document.body.append(canvas);
        ruler = canvas.getContext('2d')!;
      }
      ruler.font = font ?? '12px sans-serif';
      return ruler.measureText(text);
    },
  });

export { init, type ECharts };
export type { EChartsOption } from 'echarts';
