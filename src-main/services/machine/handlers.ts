import { platform, release } from 'node:os';
import { statSync } from 'node:fs';
import { ok } from '../../../src-workers/domain/result.ts';
import { AGENTS_SETTING, agentsSetting } from '../agents/agents.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { doctorChecks } from './doctor.ts';
import { APP_VERSION, MODEL_VERSION } from '../version.ts';

export function appHandlers(context: Context): Handlers<ProceduresOf<'app' | 'settings'>> {
  const { store, databaseFile, resourceFolder, programs, closing } = context;
  return {
    'app.info': async () => {
      const disk = await store.diskUse();
      return ok({
        version: APP_VERSION,
        host: context.host,
        platform: `${platform()} ${release()}`,
        nodeVersion: process.version,
        databaseFile,
        databaseBytes: disk.ok ? disk.value.fileBytes : (statSync(databaseFile, { throwIfNoEntry: false })?.size ?? 0),
        bin: disk.ok
          ? { ...disk.value.bin, bytes: disk.value.bin.bytes + disk.value.freeBytes }
          : { runs: 0, studies: 0, bytes: 0 },
        modelVersion: MODEL_VERSION,
        workers: context.pool.workers,
      });
    },
    'app.doctor': async () => ok(await doctorChecks(databaseFile, resourceFolder, programs, closing)),
    'settings.get': async ({ key }) => {
      const settings = await store.listSettings();
      return settings.ok ? ok(Object.hasOwn(settings.value, key) ? settings.value[key] : null) : settings;
    },
    'settings.set': async ({ key, value }) => {
      if (key === AGENTS_SETTING) {
        const setting = agentsSetting(value);
        const used = setting.ok ? await context.agents.use(setting.value) : setting;
        if (!used.ok) return used;
      }
      const done = await store.saveSetting(key, value ?? null);
      if (done.ok) context.changed('settings');
      return done;
    },
  };
}
