import type { Command } from '../shell/commands.svelte.ts';
import type { Advice } from '../state/advice.svelte.ts';
import type { App } from '../state/app.svelte.ts';
import { copyCode, measure, simulate } from './actions.ts';

export function adviceCommands(app: App, advice: Advice): Command[] {
  const { docked } = advice;
  const enabled = app.study !== null && advice.applies;
  const ready = enabled && advice.current;
  return [
    {
      id: 'advice.toggle',
      label: docked ? 'Go to the recommendation' : `${advice.open ? 'Close' : 'Open'} the recommendation`,
      keys: '0',
      menu: 'Run',
      section: true,
      words: 'advice answer best design card',
      enabled,
      run: () => advice.toggle(),
    },
    {
      id: 'advice.copy',
      menu: 'Run',
      label: 'Copy the header of the recommended design',
      keys: 'H',
      words: 'cuda launch code clipboard',
      enabled: ready,
      run: () => void copyCode(app, advice, 'header'),
    },
    {
      id: 'advice.python',
      menu: 'Run',
      label: 'Copy the recommended design as Python',
      words: 'launch code clipboard cupy numba',
      enabled: ready,
      run: () => void copyCode(app, advice, 'Python'),
    },
    {
      id: 'advice.simulate',
      menu: 'Run',
      label: 'Simulate the recommended design and the designs that cannot be told apart from it',
      enabled: ready && app.running === null,
      run: () => void simulate(app, advice),
    },
    {
      id: 'advice.measure',
      menu: 'Run',
      label: 'Measure the recommended design…',
      enabled: ready,
      run: () => void measure(app, advice),
    },
  ];
}
