import type { Component } from 'svelte';
import ChartColumn from '@lucide/svelte/icons/chart-column';
import Grid3x3 from '@lucide/svelte/icons/grid-3x3';
import TextAlignStart from '@lucide/svelte/icons/text-align-start';
import Gauge from '@lucide/svelte/icons/gauge';
import SlidersVertical from '@lucide/svelte/icons/sliders-vertical';
import Logs from '@lucide/svelte/icons/logs';
import Sigma from '@lucide/svelte/icons/sigma';
import Upload from '@lucide/svelte/icons/upload';

export type Icon = Component<{ size?: number | string; strokeWidth?: number | string; class?: string }>;

export const VIEWS = [
  { id: 'study', label: 'Study', key: '1', icon: ChartColumn as Icon },
  { id: 'landscape', label: 'Landscape', key: '2', icon: Grid3x3 as Icon },
  { id: 'ranking', label: 'Ranking', key: '3', icon: TextAlignStart as Icon },
  { id: 'compare', label: 'Compare', key: '4', icon: SlidersVertical as Icon },
  { id: 'measure', label: 'Measure', key: '5', icon: Gauge as Icon },
  { id: 'runs', label: 'Runs', key: '6', icon: Logs as Icon },
  { id: 'models', label: 'Models', key: '7', icon: Sigma as Icon },
  { id: 'export', label: 'Export', key: '8', icon: Upload as Icon },
] as const;

export type ViewId = (typeof VIEWS)[number]['id'];

export function viewLabel(id: ViewId): string {
  return VIEWS.find((view) => view.id === id)!.label;
}
