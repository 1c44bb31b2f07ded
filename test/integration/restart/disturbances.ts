/** Faults that disturb all families for a few seconds. */
import {setTimeout as delay} from 'node:timers/promises';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {ISSUER_NAME} from '../certificate/ca-world.ts';
import {pick, type RandomSource} from '../dns/mutate.ts';
import {INGRESS_CLASS_NAME, installIngressClass} from '../operator/operator-world.ts';
import {type Fault, isWatch, type Seen} from '../runtime/fault-proxy.ts';
import type {RestartWorld} from './restart-world.ts';

type End = () => unknown;
type Disturbance = (world: RestartWorld, random: RandomSource) => Promise<End> | End;

/** Kinds that may be missing, because a CRD defines them. */
const CUSTOM_KINDS = ['projects', 'domains', 'domainclaims', 'certificates', 'certificaterequests', 'middlewares'];
const KINDS = [...CUSTOM_KINDS, 'namespaces', 'services', 'ingresses', 'secrets', 'apikeys', 'keyclaims'];

/** Each begins, and returns how to end it. */
const DISTURBANCES: Readonly<Record<string, Disturbance>> = {
  none: () => () => undefined,
  'the CA is down': ({ca}) => {
    ca.proxy.switches.down = true;
    return () => {
      ca.proxy.switches.down = false;
    };
  },
  'cert-manager is silent': ({ca}) => ca.certManager.pause(),
  'DNS is silent': ({ca}) => {
    ca.dns.silence();
    return () => ca.dns.speak();
  },
  'nobody answers challenges': async ({ca}) => {
    await ca.responder.stop();
    return () => ca.responder.start();
  },
  'the IngressClass is missing': async ({ca}) => {
    await ca.client.delete(kinds.INGRESS_CLASS, {name: INGRESS_CLASS_NAME});
    return () => installIngressClass(ca.client);
  },
  'the ACMEIssuer is missing': async world => {
    await world.ca.client.delete(kinds.ACME_ISSUER, {name: ISSUER_NAME});
    return () => world.applyIssuer();
  },
  'the CA has another name in CAA records': async world => {
    await world.applyIssuer({caaIdentities: ['another-ca.test']});
    return () => world.applyIssuer();
  },
  'a kind is missing': (world, random) => {
    const kind = pick(CUSTOM_KINDS, random);
    const body = JSON.stringify({kind: 'Status', apiVersion: 'v1', code: 404, reason: 'NotFound'});
    const missing = {kind: 'answer', status: 404, headers: {'content-type': 'application/json'}, body} as const;
    return interfere(world, seen => (isAbout(kind, seen) ? missing : undefined));
  },
  'a cache stands still': (world, random) => {
    const kind = pick(KINDS, random);
    const {promise, resolve} = Promise.withResolvers<void>();
    const end = interfere(world, seen =>
      isWatch(seen) && isAbout(kind, seen) ? {kind: 'hold', until: promise} : undefined,
    );
    return () => {
      resolve();
      end();
    };
  },
  'answers to writes are lost': (world, random) =>
    interfere(world, seen => (isWrite(seen) && random() < 0.3 ? {kind: 'lost'} : undefined)),
  'the API server is overloaded': (world, random) => {
    const headers = {'retry-after': '1', 'content-type': 'application/json'};
    const body = JSON.stringify({kind: 'Status', apiVersion: 'v1', code: 429, reason: 'TooManyRequests'});
    const busy = {kind: 'answer', status: 429, headers, body} as const;
    return interfere(world, seen => (!isWatch(seen) && random() < 0.5 ? busy : undefined));
  },
};

/** Between the operator and the API server, on new connections. */
function interfere({proxy}: RestartWorld, intercept: (seen: Seen) => Fault | undefined): End {
  proxy.intercept = intercept;
  proxy.disconnect();
  return () => {
    proxy.intercept = () => undefined;
    proxy.disconnect();
  };
}

function isAbout(kind: string, {path}: Seen): boolean {
  return path.split('/').includes(kind);
}

function isWrite({method}: Seen): boolean {
  return method !== 'GET';
}

/** The `number`-th of them, after a moment. Resolves once it is over, with its name. */
export async function disturb(world: RestartWorld, number: number, random: RandomSource): Promise<string> {
  await delay(random() * 2_000);
  const disturbances = Object.entries(DISTURBANCES);
  const [what, begin] = disturbances[number % disturbances.length] ?? [];
  const end = await begin?.(world, random);
  await delay(1_000 + random() * 3_000);
  await end?.();
  return what ?? '';
}
