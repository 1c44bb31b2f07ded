import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import {systemClock} from '../../time/clock.ts';
import type {CertificateRequest} from '../kinds/kinds.ts';
import {watchForeignApprovals} from './foreign-approvals.ts';

const POD = {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'nameplate-0', namespace: 'nameplate'}};

function request(...conditions: readonly (readonly [type: string, reason: string])[]): CertificateRequest {
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata: {name: 'any', namespace: 'a'},
    spec: {request: '', issuerRef: {name: 'ca'}},
    status: {conditions: conditions.map(([type, reason]) => ({type, status: 'True', reason}))},
  };
}

const approved = request(['Approved', 'cert-manager.io']);

/** The reports after these changes. */
async function told(...deltas: readonly Delta<CertificateRequest>[]) {
  const registry = new Registry();
  const events: string[] = [];
  const recorder: Pick<EventRecorder, 'event'> = {
    event: ({kind}, type, reason) => void events.push(`${kind} ${type} ${reason}`),
  };
  const requests: Pick<ReadonlyStore<CertificateRequest>, 'subscribe'> = {
    subscribe: handler => {
      deltas.forEach(handler);
      return () => undefined;
    },
  };
  const warning = watchForeignApprovals(requests, {
    clock: systemClock,
    logger: pino({level: 'silent'}),
    registry,
    events: recorder,
    regarding: POD,
  });
  const {values} = (await registry.getSingleMetric('nameplate_foreign_approvals_total')?.get()) ?? {values: []};
  return {count: values[0]?.value, events, warns: warning() !== undefined};
}

test.each<{case: string; delta: Delta<CertificateRequest>}>([
  {case: 'from before the start', delta: {type: 'added', object: approved, initial: true}},
  {case: 'by us', delta: {type: 'updated', object: request(['Approved', 'HostHeld']), old: request(), initial: false}},
  {
    case: 'a denial',
    delta: {type: 'updated', object: request(['Denied', 'cert-manager.io']), old: request(), initial: false},
  },
  {case: 'of long ago, changed otherwise', delta: {type: 'updated', object: approved, old: approved, initial: false}},
  {case: 'deleted', delta: {type: 'deleted', object: approved, initial: false}},
])('$case: nothing is reported', async ({delta}) => {
  expect(await told(delta)).toEqual({count: 0, events: [], warns: false});
});

test("approvals by cert-manager's built-in approver are counted, and reported once", async () => {
  const deltas: Delta<CertificateRequest>[] = [
    {type: 'updated', object: approved, old: request(), initial: false},
    {type: 'added', object: approved, initial: false},
  ];
  expect(await told(...deltas)).toEqual({count: 2, events: ['Pod Warning ApproverIsOn'], warns: true});
});
