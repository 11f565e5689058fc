/** Returns whether a condition has held for `forMs` ms. Call it while a component initialises. */
export function lasting(condition: () => boolean, forMs: number): () => boolean {
  let lasts = $state(false);
  $effect(() => {
    if (!condition()) return void (lasts = false);
    const timer = setTimeout(() => (lasts = true), forMs);
    return () => clearTimeout(timer);
  });
  return () => lasts;
}
