import {expect, test} from 'vitest';
import {shownId, storedId} from './schemas.ts';

test('an id is stored without its prefix', () => {
  const id = 'msg_0190abcd-ef01-7000-bfff-ffffffffffff';
  expect(storedId(id)).toBe('0190abcd-ef01-7000-bfff-ffffffffffff');
  expect(shownId(storedId(id) ?? '')).toBe(id);
});

test.each(['', 'msg_', '0190abcd-ef01-7000-bfff-ffffffffffff', 'msg_0190abcd-ef01-4000-bfff-ffffffffffff', 'msg_x'])(
  '"%s" is no id',
  text => {
    expect(storedId(text)).toBeUndefined();
  },
);
