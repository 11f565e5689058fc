export const NODE_NEEDED: string;
export function isNodeNewEnough(): boolean;
export function findElectron(root: string): { readonly file: string } | { readonly missing: string };
export function findNode(root: string): string | null;
export function hostsEngine(electron: string): boolean;
export const ENGINE_ARGUMENTS: readonly string[];
export function engineEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
