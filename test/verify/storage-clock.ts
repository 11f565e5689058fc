// Loaded before a program and its threads (node --import). The clock jumps back and forth by up to ten years.
const YEARS_MS = 10 * 365.25 * 86_400_000;
const RealDate = Date;
const start = RealDate.now();
let jumps = 0;
const jumped = (): number => {
  // The clock jumps every tenth of a second. The sequence of jumps is fixed, so that all threads of a process agree.
  jumps = Math.floor((RealDate.now() - start) / 100);
  return Math.round(RealDate.now() + YEARS_MS * Math.sin(12.9898 * jumps));
};
globalThis.Date = class extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(jumped());
    else super(...(args as [number]));
  }
  static override now(): number {
    return jumped();
  }
} as DateConstructor;
