import { fail, type Result } from '../../src-workers/domain/result.ts';
import type { ProcedureName } from '../contract/procedures.ts';
import type { Handlers } from './context.ts';

/** The procedures of measuring and calibrating. */
type MeasuringProcedure = Extract<ProcedureName, `bench.${string}` | `calibration.${string}`>;

export function measuringHandlers(): Handlers<MeasuringProcedure> {
  const absent = async (): Promise<Result<never>> => fail('unsupported', 'measuring: not in this version yet');
  return {
    'bench.targets': absent,
    'bench.start': absent,
    'bench.plan': absent,
    'bench.record': absent,
    'bench.bundle': absent,
    'bench.detail': absent,
    'bench.compare': absent,
    'bench.contention': absent,
    'calibration.fit': absent,
    'calibration.save': absent,
    'calibration.list': absent,
    'calibration.delete': absent,
    'calibration.use': absent,
  };
}
