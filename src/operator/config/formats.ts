import {DAY_SECONDS, integer, type Schema} from '../../config/config-schema.ts';

export const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
export const ipv4 = String.raw`\d{1,3}(\.\d{1,3}){3}`;
export const ipv6 = '[0-9a-fA-F:]*:[0-9a-fA-F:.]*';

export const host = {
  type: 'string',
  title: 'a domain in lower case, without scheme, port or trailing dot',
  pattern: String.raw`^(${label}\.)+${label}$`,
  maxLength: 253,
} satisfies Schema;

export const kubernetesName = {
  type: 'string',
  title: 'a name of a Kubernetes object',
  pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$',
} satisfies Schema;

export function seconds(byDefault: number, minimum: number, description: string) {
  return integer(byDefault, [minimum, 10 * 365 * DAY_SECONDS], `${description} In seconds.`);
}

export function milliseconds(byDefault: number, description: string) {
  return integer(byDefault, [1, 600_000], `${description} In milliseconds.`);
}
