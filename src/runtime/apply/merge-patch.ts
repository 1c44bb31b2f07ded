/** JSON merge patches (RFC 7386): null removes a field, and a list is replaced as a whole. */
import {isDeepStrictEqual} from 'node:util';

/**
 * The patch that turns `from` into `to`. To a depth of `merged`, keys that only `from` has stay: 1 keeps those of
 * `from` itself, 2 also those of the objects in it. A null in `to` removes a key.
 */
export function mergePatch(from: unknown, to: unknown, merged = 0): unknown {
  if (!isObject(to)) return to;
  const before = isObject(from) ? from : {};
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(to)) {
    const isAbsent = value === null && before[key] === undefined;
    if (!isAbsent && !isDeepStrictEqual(before[key], value)) patch[key] = mergePatch(before[key], value, merged - 1);
  }
  if (merged <= 0) for (const key of Object.keys(before)) if (!(key in to)) patch[key] = null;
  return patch;
}

/** The value without the fields that are null. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, part]) => part !== null);
  return Object.fromEntries(entries.map(([key, part]) => [key, withoutNulls(part)])) as T;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
