/** Decisions on which the caches and the API server disagree, or that a pause affects. Without an API server. */

import {pino} from 'pino';
import {expect, test} from 'vitest';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {reconcileContext} from '../../../test/support/memory-operator.ts';
import {ANNOTATION} from '../../api/names.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import type {Base} from '../caches/context.ts';
import {KnownSince} from '../caches/known-since.ts';
import {reconcileCertificateRequest} from './approve.ts';

const ISSUER = {name: 'other', kind: 'ClusterIssuer', group: 'cert-manager.io'};
const PLATFORM = {name: 'ca', kind: 'ACMEIssuer', group: 'nameplate.dev'};
const APPROVED = {conditions: [{type: 'Approved', status: 'True', reason: 'HostHeld'}]};
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
  {
    what: 'an approval of a request that the operator signs: its limits delay the order, not the approval',
    issuer: PLATFORM,
    cached: OURS,
    read: OURS,
    outcome: done(),
    want: ['Approved at 7'],
  },
  {what: 'an approved request that stays', status: APPROVED, cached: OURS, read: OURS, outcome: done(), want: []},
  // attack: stale-order
  {
    what: 'an approved request whose host has moved',
    status: APPROVED,
    cached: THEIRS,
    read: THEIRS,
    outcome: done(),
    want: ['deleted at 7'],
  },
  {
    what: 'an approved request whose host has moved, under a pause',
    status: APPROVED,
    isPaused: true,
    cached: THEIRS,
    read: THEIRS,
    outcome: done(),
    want: ['deleted at 7'],
  },
  {
    what: 'an approved request whose host has moved only in the cache',
    status: APPROVED,
    cached: THEIRS,
    read: OURS,
    outcome: done(),
    want: [],
  },
])('$what: $want', async ({outcome, want, ...row}) => {
  const {reconcile, clock, written} = start(row);
  await reconcile(); // known from now on
  await clock.advance(10_000);
  written.length = 0;
  expect(await reconcile()).toEqual(outcome);
  expect(written).toEqual(want);
});

test('a decision that the API server rejects: an Event on the request says why', async () => {
  const message = 'admission webhook "policy.test" denied the request: no';
  const {reconcile, events} = start({cached: OURS, read: OURS, refusal: new ApiError('PATCH', 503, {message})});
  await expect(reconcile()).rejects.toThrow('denied the request');
  expect(events).toEqual([
    expect.stringMatching(
      /^Warning DecisionRefused of a\/r: The API server rejected the decision on this request: .* denied .*platform team/,
    ),
  ]);
});

test('an API server that is overloaded is no reason for an Event', async () => {
  const {reconcile, events} = start({cached: OURS, read: OURS, refusal: new ApiError('PATCH', 503, {})});
  await expect(reconcile()).rejects.toThrow();
  expect(events).toEqual([]);
});

interface Situation {
  readonly cached: object;
  readonly read: object;
  readonly isPaused?: boolean;
  readonly issuer?: object;
  readonly exemptNamespaces?: string[];
  readonly status?: object;
  /** How the API server answers a decision. */
  readonly refusal?: ApiError;
}

/** A request of an hour ago, and a process that has just started. */
function start({cached, read, isPaused = false, issuer = ISSUER, exemptNamespaces = [], status, refusal}: Situation) {
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
  const written: string[] = [];
  const events: string[] = [];
  const operator = {
    stores: {
      claims: store(cached),
      namespaces: store(namespace),
      certificateRequests: store(request),
      certificates: store(undefined),
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
        approval: {exemptNamespaces, tenantCertificates: {hosts: [ISSUER, PLATFORM], services: []}},
      },
    },
    clock,
    knownSince: new KnownSince(clock),
    logger: pino({level: 'silent'}),
    events: {
      event: (object: KubeObject, type: string, reason: string, _: string, note: string) =>
        events.push(`${type} ${reason} of ${keyOf(object)}: ${note}`),
    },
  } as unknown as Base;
  const client = {
    get: async () => read,
    async *list({kind}: KubeObject) {
      yield {items: kind === 'Namespace' ? [namespace] : []};
    },
    applyStatus: async (_: unknown, {metadata: {resourceVersion}, status}: Written) => {
      if (refusal) throw refusal;
      written.push(`${status.conditions[0]?.type} at ${resourceVersion}`);
    },
    delete: async (_: unknown, __: unknown, {preconditions}: {preconditions: {resourceVersion: string}}) => {
      written.push(`deleted at ${preconditions.resourceVersion}`);
    },
  };
  const reconcile = reconcileCertificateRequest(operator);
  return {clock, written, events, reconcile: () => reconcile('a/r', reconcileContext(client))};
}
