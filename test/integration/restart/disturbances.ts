/** Faults that disturb all families for a few seconds. */
import {setTimeout as delay} from 'node:timers/promises';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {ISSUER_NAME} from '../certificate/ca-world.ts';
import type {RandomSource} from '../dns/mutate.ts';
import {INGRESS_CLASS_NAME, installIngressClass} from '../operator/operator-world.ts';
import type {RestartWorld} from './restart-world.ts';

/** Each begins, and returns how to end it. */
const DISTURBANCES: Readonly<Record<string, (world: RestartWorld) => Promise<() => unknown> | (() => unknown)>> = {
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
};

/** The `number`-th of them, after a moment. Resolves once it is over, with its name. */
export async function disturb(world: RestartWorld, number: number, random: RandomSource): Promise<string> {
  await delay(random() * 2_000);
  const disturbances = Object.entries(DISTURBANCES);
  const [what, begin] = disturbances[number % disturbances.length] ?? [];
  const end = await begin?.(world);
  await delay(1_000 + random() * 3_000);
  await end?.();
  return what ?? '';
}
