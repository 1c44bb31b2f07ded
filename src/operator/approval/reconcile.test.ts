/** Decisions on which the caches and the API server disagree, or that a pause affects. Without an API server. */
import {pino} from 'pino';
import {expect, test} from 'vitest';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {ReconcileContext} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {UNANSWERED} from '../model/certificate-request.ts';
import type {Operator} from '../state/context.ts';
import {KnownSince} from '../state/known-since.ts';
import {SlotReservations} from '../state/slot-reservations.ts';
import {reconcileCertificateRequest} from './reconcile.ts';

const ISSUER = {name: 'other', kind: 'ClusterIssuer', group: 'cert-manager.io'};
/** Its orders are placed by another controller. */
const PLATFORM = {...ISSUER, name: 'ca'};
const UNANSWERED_BY_TENANT = {
  conditions: [{type: 'Ready', status: 'False', reason: 'Failed', message: `${UNANSWERED}has not answered`}],
};
const csr = await signingRequest({names: ['DNS:a.test']});

interface Written extends KubeObject {
  readonly status: {readonly conditions: readonly {readonly type: string}[]};
}

const claimOf = (account: string) => ({metadata: {name: 'a.test'}, spec: {account, namespace: account, since: ''}});
const [OURS, THEIRS] = [claimOf('a'), claimOf('b')];

test.each([
  {
    what: 'an approval that the API server confirms',
    cached: OURS,
    read: OURS,
    outcome: done(),
    want: ['Approved at 7'],
  },
  {what: 'a denial that the API server confirms', cached: THEIRS, read: THEIRS, outcome: done(), want: ['Denied at 7']},
  {what: 'an approval that only the cache justifies', cached: OURS, read: THEIRS, outcome: after(1000), want: []},
  {what: 'a denial that only the cache justifies', cached: THEIRS, read: OURS, outcome: after(1000), want: []},
  {what: 'an approval under a pause', cached: OURS, read: OURS, isPaused: true, outcome: after(5000), want: []},
  {
    what: 'an approval in an exempt namespace, whatever it holds',
    exemptNamespaces: ['a'],
    cached: THEIRS,
    read: THEIRS,
    outcome: done(),
    want: ['Approved at 7'],
  },
  {
    what: 'an approval in an exempt namespace under a pause',
    exemptNamespaces: ['a'],
    cached: THEIRS,
    read: THEIRS,
    isPaused: true,
    outcome: after(5000),
    want: [],
  },
  {
    what: 'a denial under a pause',
    cached: THEIRS,
    read: THEIRS,
    isPaused: true,
    outcome: done(),
    want: ['Denied at 7'],
  },
  {what: 'an order that waits', issuer: PLATFORM, cached: OURS, read: OURS, outcome: after(60_000), want: []},
  {
    what: 'a denial of an order that waits, once the host is lost',
    issuer: PLATFORM,
    cached: THEIRS,
    read: THEIRS,
    outcome: done(),
    want: ['Denied at 7'],
  },
  {
    what: 'a denial, although the tenant has written that its ACME server did not answer',
    status: UNANSWERED_BY_TENANT,
    cached: THEIRS,
    read: THEIRS,
    outcome: done(),
    want: ['Denied at 7'],
  },
])('$what: $want', async row => {
  const {cached, read, isPaused = false, issuer = ISSUER, exemptNamespaces = [], status, outcome, want} = row;
  const clock = new ManualClock(Date.parse('2026-11-21T12:00:00Z'));
  const annotations = isPaused ? {[ANNOTATION.paused]: 'true'} : {};
  const namespace = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a', uid: 'a', annotations}};
  const metadata = {
    name: 'r',
    namespace: 'a',
    uid: 'r',
    resourceVersion: '7',
    creationTimestamp: '2026-11-21T11:00:00Z',
  };
  const request = {metadata, spec: {request: csr, issuerRef: issuer}, ...(status && {status})};
  const store = (object: unknown) => ({state: 'synced', get: () => object, byIndex: () => [], list: () => []});
  const operator = {
    stores: {
      claims: store(cached),
      namespaces: store(namespace),
      certificateRequests: store(request),
      certificates: store(undefined),
      challenges: store(undefined),
      projects: store(undefined),
      domains: store(undefined),
    },
    config: {
      controller: {paused: false},
      plans: {free: {}},
      defaultPlan: 'free',
      platform: {baseDomain: 'apps.test'},
      defaultHost: {tls: 'ingress-default'},
      certificates: {
        issuerRef: PLATFORM,
        formerIssuerRefs: [],
        challenges: {inProgress: 9, inProgressPerAccount: 9, renewalReserve: 0, timeoutSeconds: 900},
        approval: {exemptNamespaces, tenantCertificates: {hosts: [ISSUER, PLATFORM], services: []}},
      },
    },
    clock,
    knownSince: new KnownSince(clock),
    reservations: new SlotReservations(),
    logger: pino({level: 'silent'}),
  } as unknown as Operator;
  const written: string[] = [];
  const client = {
    get: async () => read,
    async *list({kind}: KubeObject) {
      yield {items: kind === 'Namespace' ? [namespace] : []};
    },
    applyStatus: async (_: unknown, {metadata: {resourceVersion}, status}: Written) =>
      written.push(`${status.conditions[0]?.type} at ${resourceVersion}`),
  };
  const context = {client, signal: new AbortController().signal} as unknown as ReconcileContext;
  const reconcile = reconcileCertificateRequest(operator);
  await reconcile('a/r', context); // known from now on
  await clock.advance(10_000);
  written.length = 0;
  expect(await reconcile('a/r', context)).toEqual(outcome);
  expect(written).toEqual(want);
});
