/** The baselines of a study, one per device. They are void if `enumerated` changes: indices then mean other designs. */
export interface StoredBaselines {
  readonly enumerated: number;
  readonly designs: readonly number[];
}

/** Reads the saved baselines. Earlier versions saved one design for all devices. */
export function readBaselines(value: unknown): StoredBaselines | null {
  if (value === null || typeof value !== 'object') return null;
  const { enumerated, designs, designIndex } = value as Record<string, unknown>;
  if (typeof enumerated !== 'number') return null;
  if (typeof designIndex === 'number') return { enumerated, designs: [designIndex] };
  if (!Array.isArray(designs)) return null;
  return { enumerated, designs: designs.filter((design): design is number => typeof design === 'number') };
}

export function pinnedOn(
  stored: StoredBaselines | null,
  designs: number,
  devices: number,
  device: number,
): number | null {
  if (stored?.enumerated !== designs) return null;
  return stored.designs.find((design) => Math.floor(design / (designs / devices)) === device) ?? null;
}
