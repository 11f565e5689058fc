export function changedFiles(): string[];
export function nearestTests(changed: readonly string[]): string[];
