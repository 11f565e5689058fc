export type ToolName =
  | 'chromium'
  | 'swiftshader'
  | 'g++'
  | 'shellcheck'
  | 'sqlite3'
  | 'redis-server'
  | 'openssl'
  | 'python3'
  | 'kokkos'
  | 'nvcc'
  | 'hipcc'
  | 'optuna'
  | 'slurm'
  | 'networkx'
  | 'scipy'
  | 'nbconvert'
  | 'opencl'
  | 'speedscope'
  | 'duckdb'
  | 'arrow'
  | 'polars';
export interface Tool {
  readonly use: string;
  readonly get: string;
  readonly debian: string | null;
  readonly npm?: string;
  readonly needs?: ToolName;
}
export const TOOLS: Readonly<Record<ToolName, Tool>>;
export const NPM_TOOLS: string;
export function findTool(name: ToolName): string | null;
export function forgetTools(): void;
export function lacks(...names: readonly ToolName[]): boolean;
