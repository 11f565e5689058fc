import { init, use, type EChartsType } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { VisualMapComponent, TooltipComponent } from 'echarts/components';
// @ts-expect-error echarts-gl ships no types
import { SurfaceChart } from 'echarts-gl/charts';
// @ts-expect-error echarts-gl ships no types
import { Grid3DComponent } from 'echarts-gl/components';

use([CanvasRenderer, Grid3DComponent as never, SurfaceChart as never, TooltipComponent, VisualMapComponent]);

/** A chart that can draw surfaces. Throws where there is no WebGL. */
export function initSurface(element: HTMLElement): EChartsType {
  if (!document.createElement('canvas').getContext('webgl')) throw new Error('this browser offers none');
  return init(element, null, { renderer: 'canvas' });
}
