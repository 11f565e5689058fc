import type { Context, Handlers, ProceduresOf } from '../context.ts';

export function deviceHandlers({ catalogue, changed }: Context): Handlers<ProceduresOf<'devices'>> {
  return {
    'devices.list': () => catalogue.list(),
    'devices.get': ({ ids }) => catalogue.devices(ids),
    'devices.save': async ({ device }) => {
      const done = await catalogue.save(device);
      if (done.ok) changed('devices');
      return done;
    },
    'devices.delete': async ({ id }) => {
      const done = await catalogue.remove(id);
      if (done.ok) changed('devices');
      return done;
    },
  };
}
