/** The parts of ECharts the charts use; anything not registered here is not in the bundle. */
import { BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart } from 'echarts/charts';
import {
  AxisPointerComponent,
  BrushComponent,
  GraphicComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  MarkPointComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { init, use, type ECharts } from 'echarts/core';
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers';

use([
  AxisPointerComponent,
  BarChart,
  BrushComponent,
  CanvasRenderer,
  CustomChart,
  GraphicComponent,
  GridComponent,
  HeatmapChart,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  MarkPointComponent,
  ParallelChart,
  ParallelComponent,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
  VisualMapComponent,
]);

export { init, type ECharts };
export type { EChartsOption } from 'echarts';
