import type { ActivityProfile, BlockLaw } from './block-law.ts';
import { meanRate, type SmoothedRate } from './rate.ts';

/** Everything about a design but its grid and the number of multiprocessors. */
export interface Residency {
  readonly block: BlockLaw;
  readonly residentBlocks: number;
  readonly rate: SmoothedRate;
}

export function prepareResidency(block: BlockLaw, residentBlocks: number, rate: SmoothedRate): Residency {
  return { block, residentBlocks, rate };
}

/**
 * Predicted time of a launch, cycles, on the device that `simulate` plays event by event.
 * @param gridBlocks G ≥ 0
 * @param multiprocessors M ≥ 1
 */
export function predictCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks, rate } = residency;
  if (gridBlocks === 0) return 0;
  const W = block.groupsPerBlock;
  const M = multiprocessors;
  if (block.blockDeviation <= 1e-9 * block.meanBlock) {
    const perMultiprocessor = Math.ceil(gridBlocks / M);
    const fullWaves = Math.floor(perMultiprocessor / residentBlocks);
    const rest = perMultiprocessor - fullWaves * residentBlocks;
    const last = rest > 0 ? rate.cycles[rest * W] : 0;
    return block.meanBlock * (fullWaves * rate.cycles[residentBlocks * W] + last);
  }
  const slots = M * residentBlocks;
  if (gridBlocks <= slots) {
    const each = Math.ceil(gridBlocks / M);
    return drainCycles(block, block.fresh, each, Math.min(M, gridBlocks), gridBlocks, rate);
  }
  const oneWave = drainCycles(block, block.fresh, residentBlocks, M, slots, rate);
  const w0 = W * (block.meanGroup / block.meanBlock);
  const mean = residentBlocks * w0;
  const pair0 = block.stationary.pair[0];
  const variance = residentBlocks * Math.max(0, w0 + W * (W - 1) * pair0 - w0 * w0);
  return oneWave + (gridBlocks / slots - 1) * block.meanBlock * meanRate(rate, mean, variance, residentBlocks * W);
}

/** Time from now to the end of the slowest multiprocessor where ended blocks are not replaced, cycles. */
function drainCycles(
  block: BlockLaw,
  profile: ActivityProfile,
  slots: number,
  multiprocessors: number,
  deviceSlots: number,
  rate: SmoothedRate,
): number {
  const { width, groupsPerBlock: W } = block;
  const cap = slots * W;
  let meanTime = 0;
  let slowTime = 0;
  let inner = 0;
  let spread = 0;
  for (let c = 0; c < width.length; c++) {
    const b = profile.block[c];
    const g = profile.group[c];
    const pair = profile.pair[c];
    const h = width[c];
    const logIdle = b < 1 ? Math.log1p(-b) : -Infinity;
    const alive = b < 1 ? -Math.expm1(slots * logIdle) : 1;
    const aliveDevice = b < 1 ? -Math.expm1(deviceSlots * logIdle) : 1;
    const second = W * g + W * (W - 1) * pair;
    const slotVariance = Math.max(0, second - W * W * g * g);
    const mean = (slots * W * g) / alive;
    const variance = (slots * slotVariance + slots * slots * W * W * g * g) / alive - mean * mean;
    meanTime += h * alive * meanRate(rate, mean, variance, cap);
    const own = (W * g) / b;
    const meanSlow = own + (slots - 1) * W * g;
    const varianceSlow = Math.max(0, second / b - own * own) + (slots - 1) * slotVariance;
    const t = meanRate(rate, meanSlow, varianceSlow, cap);
    slowTime += h * aliveDevice * t;
    if (g < 1) {
      const f = meanRate(rate, meanSlow + 1, varianceSlow, cap + 1 > rate.groups ? rate.groups : cap + 1) - t;
      const before = f * (1 - g) * h;
      spread += ((f * slots * slotVariance) / (1 - g)) * h * (2 * inner + before);
      inner += before;
    }
  }
  const tail = Math.max(0, slowTime - meanTime);
  const sum = normalMaximum(multiprocessors) * Math.sqrt(spread);
  return meanTime + Math.sqrt(tail * tail + sum * sum);
}

/** E[max of n standard normals], within 1 % for every n ≥ 1 (Blom's plotting position of the expected maximum). */
function normalMaximum(n: number): number {
  if (n <= 1) return 0;
  const p = (n - 0.375) / (n + 0.25);
  // Normal quantile, Abramowitz and Stegun 26.2.23.
  const t = Math.sqrt(-2 * Math.log(1 - p));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}
