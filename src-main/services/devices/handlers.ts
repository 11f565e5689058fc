import { changing, type Context, type Handlers, type ProceduresOf } from '../context.ts';

export function deviceHandlers(context: Context): Handlers<ProceduresOf<'devices'>> {
  const { catalogue } = context;
  return {
    'devices.list': () => catalogue.list(),
    'devices.get': ({ ids }) => catalogue.devices(ids),
    'devices.save': ({ device }) => changing(context, 'devices', catalogue.save(device)),
    'devices.delete': ({ id }) => changing(context, 'devices', catalogue.remove(id)),
  };
}
