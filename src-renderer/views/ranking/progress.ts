import type { RunProgress } from '../../../src-main/contract/api.ts';
import type { Engine } from '../../state/engine.svelte.ts';

/** Calls `refresh` at most once every `everyMs` while runs make progress that concerns the caller. */
export function onProgress(
  engine: Pick<Engine, 'on'>,
  everyMs: number,
  concerns: (progress: RunProgress) => boolean,
  refresh: (progress: RunProgress) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const off = engine.on('run.progress', (progress) => {
    if (timer || !concerns(progress)) return;
    timer = setTimeout(() => {
      timer = undefined;
      refresh(progress);
    }, everyMs);
  });
  return () => {
    off();
    clearTimeout(timer);
  };
}
