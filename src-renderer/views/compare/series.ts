/** The paths of the shapes in a box of 8 × 8: square, diamond, triangle, cross, disc. */
const SERIES_PATHS = [
  'M.5.5h7v7h-7z',
  'M4-.5 8.5 4 4 8.5-.5 4z',
  'M4 0 8 7.5H0z',
  'M.7 0 4 3.3 7.3 0 8 .7 4.7 4 8 7.3 7.3 8 4 4.7.7 8 0 7.3 3.3 4 0 .7z',
  'M4 .4a3.6 3.6 0 1 0 0 7.2a3.6 3.6 0 1 0 0-7.2z',
] as const;

/** Returns the colour and shape of a series. Colours repeat from the sixth series on, with other shapes. */
export function seriesOf(at: number) {
  const round = Math.floor(at / SERIES_PATHS.length);
  return {
    index: at % 5,
    colour: `var(--series-${(at % 5) + 1})`,
    path: SERIES_PATHS[(at + round) % SERIES_PATHS.length],
  };
}
