/** A name server of the platform that accepts updates (RFC 2136) for one zone: Knot, as a process of the test. */
import {randomBytes} from 'node:crypto';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {cacheRoot} from '../cluster/cache.ts';
import {failOnExit, startChild} from '../cluster/children.ts';
import {until} from '../cluster/wait.ts';
import {formatZone} from '../cluster/zonefile.ts';
import {resolverAt} from '../cluster/zones.ts';
import {ensureNameServerPrograms} from '../integration/dns/internet/packages.ts';

/** Signs updates (RFC 8945), with HMAC-SHA256. */
export interface UpdateKey {
  readonly name: string;
  /** In base64. */
  readonly secret: string;
}

export interface UpdateServer {
  readonly key: UpdateKey;
  /** The values of the name's TXT records. */
  txt(name: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startUpdateServer(address: string, zone: string): Promise<UpdateServer> {
  const {paths, libraries} = await ensureNameServerPrograms({cache: cacheRoot()});
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-updates-'));
  const key = {name: 'platform', secret: randomBytes(32).toString('base64')};
  await writeFile(join(folder, 'db.zone'), zoneFile(address, zone));
  await writeFile(join(folder, 'knot.conf'), configuration(folder, address, zone, key));
  const log = join(folder, 'knot.log');
  const env = {...process.env, LD_LIBRARY_PATH: libraries};
  const knot = startChild('knot', [paths.knotd, '-c', join(folder, 'knot.conf')], {log, env});
  const resolver = resolverAt(address);
  const isServed = async () => (await resolver.resolveSoa(zone)).serial > 0;
  await Promise.race([until(`${address} serves ${zone}`, isServed), failOnExit(knot, log)]);
  return {
    key,
    txt: async name => {
      const records = await resolver.resolveTxt(name).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENODATA' || error.code === 'ENOTFOUND') return [];
        throw error;
      });
      return records.map(parts => parts.join(''));
    },
    stop: async () => {
      await knot.stop();
      await rm(folder, {recursive: true});
    },
  };
}

function zoneFile(address: string, zone: string): string {
  const primary = `ns.${zone}`;
  const records = [
    {name: zone, ttl: 30, type: 'NS', value: `${primary}.`},
    {name: primary, ttl: 30, type: 'A', value: address},
  ];
  return formatZone({zone, primary, serial: 1, records});
}

function configuration(folder: string, address: string, zone: string, {name, secret}: UpdateKey): string {
  return `
server:
  rundir: "${folder}"
  listen: "${address}@53"
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
log:
  - target: stderr
    any: warning
database:
  storage: "${folder}"
key:
  - id: ${name}
    algorithm: hmac-sha256
    secret: ${secret}
acl:
  - id: updates
    key: ${name}
    action: update
zone:
  - domain: "${zone}"
    file: "${folder}/db.zone"
    acl: updates
    zonefile-sync: -1
    journal-content: none
`;
}
