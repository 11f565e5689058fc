/** Checks the layering of the project, as in the table of ARCHITECTURE.md. If a rule hurts, change the design. */
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^(src-|db/)', pathNot: [from, ...allowed] },
});
module.exports = {
  forbidden: [
    {
      name: 'order-of-the-prediction',
      comment: 'The folders of the prediction are in the order of its data: depth, dealing, time.',
      severity: 'error',
      from: { path: '^src-workers/predict/depth/' },
      to: { path: '^src-workers/predict/(dealing|time)/' },
    },
    {
      name: 'dealing-before-time',
      comment: 'Which units a slot gets does not depend on how long they take.',
      severity: 'error',
      from: { path: '^src-workers/predict/dealing/' },
      to: { path: '^src-workers/predict/time/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(electron|virtual:|@webgpu/types|\\$)' },
    },
    only('domain imports nothing but data', '^src-workers/domain', ['^db/assumed\\.json$']),
    only('numeric imports domain', '^src-workers/numeric', ['^src-workers/domain']),
    only('models import domain and numeric', '^src-workers/models', ['^src-workers/(domain|numeric)']),
    only('the prediction imports domain, numeric and models', '^src-workers/predict', [
      '^src-workers/(domain|numeric|models)',
    ]),
    only('advice imports what predicts and ranks', '^src-workers/advise', [
      '^src-workers/(domain|numeric|models|predict|sweep)',
    ]),
    only('inspection imports domain, models and what reads the assembler', '^src-workers/inspect', [
      '^src-workers/(domain|models|bench/cuda/ptxas\\.ts)',
    ]),
    only('tune imports domain, numeric and models', '^src-workers/tune', ['^src-workers/(domain|numeric|models)']),
    only('parse imports domain, numeric and models', '^src-workers/parse', ['^src-workers/(domain|numeric|models)']),
    only('ranking imports domain and numeric', '^src-workers/sweep', ['^src-workers/(domain|numeric)']),
    only('the simulation imports domain, numeric, models and predict', '^src-workers/simulate', [
      '^src-workers/(domain|numeric|models|predict)',
    ]),
    only('measuring imports what predicts and parses', '^src-workers/bench', [
      '^src-workers/(domain|numeric|models|predict|parse)',
    ]),
    only('evidence imports what predicts, parses and advises', '^src-workers/evidence', [
      '^src-workers/(domain|numeric|models|predict|parse|advise|sweep)',
    ]),
    only('workers import workers only', '^src-workers', ['^src-workers', '^db/assumed\\.json$']),
    only('db imports domain', '^db', ['^src-workers/domain']),
    only('contract imports domain', '^src-main/contract', ['^src-workers/domain']),
    only('services import contract, db and the pool', '^src-main/services', [
      '^src-main/contract',
      '^db',
      '^src-workers',
    ]),
    only('hosts import services and contract', '^src-main/(desktop|serve|cli|library\\.ts)', [
      '^src-main/(services|contract|hosts)',
      '^src-workers/domain',
    ]),
    only('renderer imports contract, domain and models, and measures with its own GPU', '^src-renderer', [
      '^src-main/contract',
      '^src-workers/(domain|models|numeric|predict/(depth|dealing|time|constants))',
      '^src-workers/advise/assumed\\.ts$',
      '^src-workers/bench/(webgpu/measure|unit-loop|probe)\\.ts$',
    ]),
    {
      name: 'what a page runs needs no Node',
      severity: 'error',
      from: {
        path: '^src-(renderer|workers/(domain|models|numeric|predict|bench/webgpu/measure|bench/unit-loop|bench/probe))',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'piscina only in the worker and the pool',
      severity: 'error',
      from: { path: '^src-', pathNot: '^(src-workers/worker\\.ts|src-main/services/pool\\.ts)$' },
      to: { path: 'node_modules/piscina' },
    },
    {
      name: 'electron only in the desktop host',
      severity: 'error',
      from: { path: '^(src-|db/)', pathNot: '^src-main/desktop' },
      to: { path: '^(electron$|node_modules/electron/)' },
    },
    {
      name: 'the database only in db',
      severity: 'error',
      from: { path: '^src-' },
      to: { path: 'node_modules/better-sqlite3' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    exclude: { path: '^(out|test-results)' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types', 'svelte'],
    },
  },
};
