import { describe, expect, it, vi } from 'vitest';
import type { BenchPlan, BenchRecord } from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { measureInPage, pageTarget, probeInPage, type PageBackend } from '../../src-renderer/views/measure/page-gpu.ts';

const PLAN = { format: 'lockstep-bench', version: 1, backend: 'webgpu', cases: [] } as unknown as BenchPlan;
const sample = (repeat: number): BenchRecord => ({ type: 'sample', case: 'a', repeat, warmUp: false, timeNs: 1e6, clockMhz: null }); // prettier-ignore
const DONE: BenchRecord = { type: 'done', elapsedMs: 5 };

/** Makes a stand-in for the engine. It stores the records, or refuses them. */
function fakeEngine(refuses = false) {
  const records: BenchRecord[] = [];
  const law = { label: 'constant(3)', support: [3], probability: [1], truncatedMass: 0 };
  const call = async (name: string, input: { records?: BenchRecord[] }): Promise<Result<unknown>> => {
    if (name === 'bench.plan') return ok(PLAN);
    if (name === 'workload.resolve') return ok(law);
    if (refuses) return fail('conflict', 'run 3 has ended');
    records.push(...input.records!);
    return ok(null);
  };
  return { engine: { call } as never, records };
}

function fakeGpu() {
  let lose: (info: { message: string; reason: string }) => void = () => undefined;
  const destroy = vi.fn(() => lose({ message: '', reason: 'destroyed' }));
  const ability = {
    features: new Set(['timestamp-query', 'subgroups']),
    limits: { maxBufferSize: 1, maxComputeInvocationsPerWorkgroup: 256 },
  };
  const device = { ...ability, lost: new Promise((resolve) => (lose = resolve)), destroy };
  const sizes = { subgroupMinSize: 4, subgroupMaxSize: 4 };
  const info = { vendor: 'google', architecture: 'swiftshader', device: '', description: '', ...sizes };
  const adapter = { info, ...ability, requestDevice: vi.fn(async () => device) };
  const gpu = { requestAdapter: async () => adapter } as unknown as GPU;
  return { gpu, adapter, destroy, lose: (message: string) => lose({ message, reason: 'unknown' }) };
}

/** Measures in a page with this backend, and returns everything that is observable from outside. */
async function measured(
  measure: PageBackend,
  { refuses = false, abort = new AbortController(), page = fakeGpu() } = {},
) {
  const { engine, records } = fakeEngine(refuses);
  const result = await measureInPage(engine, 3, page.gpu, measure, abort.signal);
  return { ...page, result, records };
}
const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

describe('the GPU of the page', () => {
  it('passes on records in order, and releases the device', async () => {
    const samples = Array.from({ length: 900 }, (_, i) => sample(i));
    const { result, records, destroy, adapter } = await measured(async (_device, info, _plan, onRecord) => {
      for (const record of [info, ...samples, DONE]) void onRecord(record);
    });
    expect(result).toEqual(ok(null));
    expect(records[0]).toMatchObject({ type: 'device', backend: 'webgpu', threadGroupWidth: 4 });
    expect(records.slice(1)).toEqual([...samples, DONE]);
    expect(destroy).toHaveBeenCalledOnce();
    const wanted = { requiredFeatures: ['timestamp-query', 'subgroups'] };
    expect(adapter.requestDevice).toHaveBeenCalledWith(expect.objectContaining(wanted));
  });

  it('reports a lost device once, and nothing after it', async () => {
    const page = fakeGpu();
    const lost: PageBackend = async (_device, _info, _plan, onRecord, signal) => {
      void onRecord(sample(0));
      page.lose('the driver stopped');
      await aborted(signal);
      void onRecord(sample(1));
      throw new Error('a call on a lost device');
    };
    const { records } = await measured(lost, { page });
    const report = { type: 'lost', message: 'the driver stopped' };
    expect(records.filter(({ type }) => type === 'lost')).toEqual([report]);
    expect(records.at(-1)).toEqual(report);
  });

  it('stops at the first refusal, because the run has ended', async () => {
    const endless: PageBackend = async (_device, _info, _plan, onRecord, signal) => {
      for (let i = 0; i < 400; i += 1) void onRecord(sample(i));
      await aborted(signal);
    };
    expect((await measured(endless, { refuses: true })).result).toFail(null, 'run 3 has ended');
  });

  it('stops when cancelled, and keeps the measurements made before', async () => {
    const abort = new AbortController();
    const cancelled: PageBackend = async (_device, _info, _plan, onRecord, signal) => {
      void onRecord(sample(0));
      abort.abort();
      if (!signal.aborted) void onRecord(DONE);
    };
    expect(await measured(cancelled, { abort })).toMatchObject({ result: ok(null), records: [sample(0)] });
  });

  it('reports an error, so that the run does not wait', async () => {
    const { records } = await measured(() => Promise.reject(new Error('no shader')));
    expect(records).toEqual([{ type: 'lost', message: 'measuring stopped: no shader' }]);
    const none = fakeEngine();
    const result = await measureInPage(none.engine, 3, undefined, async () => {}, new AbortController().signal);
    expect([result.ok, none.records[0].type]).toEqual([false, 'lost']);
  });

  it('finds laws of lengths through the engine', async () => {
    let label = '';
    await measured(async (_device, _info, _plan, _onRecord, _signal, lengthLaw) => {
      const law = await lengthLaw('constant(3)');
      if (law.ok) label = law.value.label;
    });
    expect(label).toBe('constant(3)');
  });

  it('ends a cancelled probe, and requests no other round', async () => {
    const call = vi.fn(async () => ok({ kind: 'round', plan: { ...PLAN, workload: { lengths: [1] } } }));
    const cancel = new AbortController();
    const { gpu, destroy } = fakeGpu();
    const launched: PageBackend = async (_device, _info, _plan, _onRecord, signal) => {
      cancel.abort();
      expect(signal.aborted).toBe(true);
    };
    const probed = await probeInPage({ call } as never, { target: 'webgpu-page' }, gpu, launched, cancel.signal);
    expect(probed).toFail('cancelled');
    expect([call, destroy].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });

  it('is a target, or the page says what it lacks', async () => {
    expect(await pageTarget(fakeGpu().gpu)).toMatchObject({
      available: true,
      label: 'Software GPU (runs anywhere): google swiftshader',
      device: { threadGroupWidth: 4, properties: { maxComputeInvocationsPerWorkgroup: 256, subgroups: 1 } },
    });
    expect(await pageTarget(undefined)).toMatchObject({ available: false, label: 'This window has no WebGPU' });
    const empty = { requestAdapter: async () => null } as unknown as GPU;
    expect(await pageTarget(empty)).toMatchObject({ available: false, advice: /chrome:\/\/gpu/ });
  });
});
