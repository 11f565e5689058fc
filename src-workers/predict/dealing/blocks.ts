export interface ListedBlocks {
  readonly groupsPerBlock: number;
  /** Depth of each group, iterations. Group g of block b is at b·groupsPerBlock + g. */
  readonly depths: Float64Array;
  readonly means: Float64Array;
  readonly lives: Float64Array;
}

export interface PlacedBlocks extends ListedBlocks {
  readonly order: Int32Array;
}

export function listBlocks(depths: Float64Array, groupsPerBlock: number): ListedBlocks {
  const W = groupsPerBlock;
  if (W === 1) return { groupsPerBlock: W, depths, means: depths, lives: depths };
  const means = new Float64Array(depths.length / W);
  const lives = new Float64Array(means.length);
  for (let b = 0, at = 0; b < means.length; b++) {
    let sum = 0;
    let longest = 0;
    for (let g = 0; g < W; g++, at++) {
      const depth = depths[at];
      sum += depth;
      if (depth > longest) longest = depth;
    }
    means[b] = sum / W;
    lives[b] = longest;
  }
  return { groupsPerBlock: W, depths, means, lives };
}

export function placeBlocks(depths: Float64Array, groupsPerBlock: number, order: Int32Array | null): PlacedBlocks {
  const blocks = listBlocks(depths, groupsPerBlock);
  return { ...blocks, order: order ?? Int32Array.from(blocks.means, (_, b) => b) };
}

/** Sorts by insertion. Rows are short, and rows of sorted units are nearly sorted already. */
export function sortRow(values: Float64Array, from: number, count: number): void {
  for (let i = from + 1; i < from + count; i++) {
    const value = values[i];
    let j = i;
    for (; j > from && values[j - 1] > value; j--) values[j] = values[j - 1];
    values[j] = value;
  }
}
