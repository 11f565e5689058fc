export const CHROMIUM_NAMES: readonly string[];
