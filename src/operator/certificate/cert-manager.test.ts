import {pino} from 'pino';
import {expect, onTestFinished, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf} from '../../../test/support/memory-operator.ts';
import type {Certificate} from '../kinds/kinds.ts';
import {CertManager} from './cert-manager.ts';

const SECOND = 1000;

function named(uid: string): Certificate {
  const spec = {secretName: uid, issuerRef: {name: 'ca'}};
  return {apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: {name: uid, uid}, spec};
}

/** `lease`: what the API server answers now. */
function watch(lease: {name: string} = {name: 'cert-manager-controller'}) {
  const clock = new ManualClock();
  const told: (string | undefined)[] = [];
  let spec: object | undefined = {holderIdentity: 'a', renewTime: '2030-01-01T00:00:00.000000Z'};
  let uids: string[] = [];
  let isDown = false;
  let reads = 0;
  const get = async () => {
    reads += 1;
    if (isDown) throw new Error('the API server does not answer');
    return spec && {spec};
  };
  const certManager = new CertManager({
    client: apiOf({get}).client,
    clock,
    logger: pino({level: 'silent'}),
    certificates: {byIndex: () => uids.map(named)},
    lease: {namespace: 'kube-system', ...lease},
  });
  certManager.subscribe(() => told.push(certManager.problem()));
  const stop = new AbortController();
  const ended = certManager.run(stop.signal);
  onTestFinished(() => {
    stop.abort();
    return ended;
  });
  /** In steps, because each look takes a few turns. */
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n += 5) await clock.advance(5 * SECOND);
  };
  return {
    pass,
    certManager,
    told,
    reads: () => reads,
    untouched: (...all: string[]) => {
      uids = all;
    },
    renews: (renewTime: string) => {
      spec = {holderIdentity: 'a', renewTime};
    },
    vanishes: () => {
      spec = undefined;
    },
    apiServer: (up: boolean) => {
      isDown = !up;
    },
  };
}

test('a Lease that is not renewed for 90 s is reported once, and so is its next renewal, whatever its times are', async () => {
  const {pass, certManager, told, renews} = watch();
  await pass(80);
  expect(certManager.problem()).toBeUndefined();
  await pass(60);
  expect(certManager.problem()).toContain(
    'last renewed Lease kube-system/cert-manager-controller at 2030-01-01T00:00:00Z',
  );
  renews('2020-01-01T00:00:00.000000Z');
  await pass(20);
  expect(certManager.problem()).toBeUndefined();
  expect(told).toEqual([expect.stringContaining('is not running'), undefined]);
});

test('a Lease that is renewed reports nothing, and neither does one that does not exist', async () => {
  const {pass, told, renews, vanishes} = watch();
  for (let n = 10; n < 40; n++) {
    renews(`2030-01-01T00:00:${n}Z`);
    await pass(15);
  }
  vanishes();
  await pass(300);
  expect(told).toEqual([]);
});

test('an outage of the API server says nothing about cert-manager', async () => {
  const {pass, told, apiServer} = watch();
  await pass(60);
  apiServer(false);
  await pass(300);
  apiServer(true);
  await pass(60);
  expect(told).toEqual([]);
});

test('without a name, nothing is read', async () => {
  const {pass, reads} = watch({name: ''});
  await pass(300);
  expect(reads()).toBe(0);
});

test('without a Lease, Certificates that nobody takes up for 90 s are reported until one is', async () => {
  const {pass, certManager, untouched, vanishes} = watch();
  vanishes();
  for (const uids of [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'd'],
  ]) {
    untouched(...uids);
    await pass(60);
    expect(certManager.problem()).toBeUndefined();
  }
  await pass(60);
  expect(certManager.problem()).toContain('has not taken up any of the Certificates');
  untouched('d');
  await pass(15);
  expect(certManager.problem()).toBeUndefined();
});
