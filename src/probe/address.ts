import type {Address} from './visit.ts';

const HTTPS_PORT = 443;

/** `host`, `host:port`, an IP address, `ip:port`, or `[ip]:port`. The port is 443 by default. */
export function parseAddress(text: string): Address {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return {host: bracketed ?? plain ?? text, port: port === undefined ? HTTPS_PORT : Number(port)};
}
