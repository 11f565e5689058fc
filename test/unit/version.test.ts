import { expect, it } from 'vitest';
import { isOrderAware, takesMiddles } from '../../src-main/services/version.ts';

it('a saved run means what it meant in the version that made it', () => {
  const versions = [undefined, 'other 9.9', 'composite 2.9', 'composite 3', 'composite 4.1', 'composite 4.2', 'composite 4.10', 'composite 5.0']; // prettier-ignore
  expect(versions.map(isOrderAware)).toEqual([false, false, false, true, true, true, true, true]);
  expect(versions.map(takesMiddles)).toEqual([false, false, false, false, false, true, true, true]);
});
