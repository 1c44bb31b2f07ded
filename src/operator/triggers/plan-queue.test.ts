import {expect, test} from 'vitest';
import {LABEL} from '../../api/names.ts';
import {Store} from '../../runtime/cache/store.ts';
import {type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountId} from '../model/account.ts';
import type {Domain} from '../model/kinds.ts';
import {INDEX} from '../state/stores.ts';
import {planQueue} from './plan-queue.ts';

const onHandlerError = (error: unknown) => {
  throw error;
};

function namespace(name: string, account = 'acme'): KubeObject {
  return {apiVersion: 'v1', kind: 'Namespace', metadata: {name, labels: {[LABEL.account]: account}}};
}

let version = 0;

function domain(host: string, second: number, reason = 'PlanLimitReached', inNamespace = 'ns'): Domain {
  const creationTimestamp = new Date(Date.UTC(2026, 10, 21) + second * 1000).toISOString();
  const status = reason === 'Accepted' ? 'True' : 'False';
  const accepted = {type: 'Accepted', status, reason, message: '', lastTransitionTime: creationTimestamp} as const;
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Domain',
    metadata: {name: host, namespace: inNamespace, creationTimestamp, uid: host, resourceVersion: `${++version}`},
    spec: {host, projectRef: {name: 'shop'}},
    status: {observedGeneration: 1, conditions: [accepted]},
  };
}

/** The queue, and what each change of a Domain requeues. */
function queueOf(waiting: readonly Domain[], namespaces: readonly KubeObject[] = [namespace('ns')]) {
  const known = new Store({onHandlerError});
  known.addIndex(INDEX.account, object => [accountId(object)]);
  for (const object of namespaces) known.upsert(object);
  const domains = new Store<Domain>({onHandlerError});
  for (const each of waiting) domains.upsert(each);
  const queue = planQueue({namespaces: known}, domains);
  const requeued: string[][] = [];
  domains.subscribe(delta => {
    if (!delta.initial) requeued.push(queue.behind(delta));
  });
  return {queue, domains, requeued};
}

// attack: too-many-projects
test('the 32 oldest of 50,000 waiting Domains are requeued, in order of age', () => {
  const all = Array.from({length: 50_000}, (_, n) => domain(`h${n}`, (n * 7919) % 50_000));
  const oldest = all.toSorted((a, b) =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1,
  );
  expect(queueOf(all).queue.next('acme')).toEqual(oldest.slice(0, 32).map(keyOf));
});

test('each namespace of the account has its own queue, and other accounts have none', () => {
  const mine = Array.from({length: 100}, (_, n) => domain(`a${n}`, n));
  const other = domain('b', 1000, 'PlanLimitReached', 'other');
  const strange = domain('c', 0, 'PlanLimitReached', 'strange');
  const namespaces = [namespace('ns'), namespace('other'), namespace('strange', 'evil')];
  const {queue} = queueOf([...mine, other, strange], namespaces);
  expect(queue.next('acme')).toEqual([...mine.slice(0, 32), other].map(keyOf));
  expect(queue.next(undefined)).toEqual([]);
});

test('when a namespace leaves the account, what the account has elsewhere is requeued', () => {
  const [stays, left] = [namespace('ns'), namespace('left', 'evil')];
  const {queue} = queueOf([domain('a', 1), domain('b', 0, 'PlanLimitReached', 'left')], [stays, left]);
  const old = namespace('left');
  expect(queue.leftBy({type: 'updated', object: left, old, initial: false})).toEqual(['ns/a']);
  expect(queue.leftBy({type: 'deleted', object: old, initial: false})).toEqual(['ns/a']);
  expect(queue.leftBy({type: 'updated', object: left, old: left, initial: false})).toEqual([]);
});

test.each([
  ['got a slot', 'PlanLimitReached', 'Accepted', ['ns/b']],
  ['no longer needs a slot', 'PlanLimitReached', 'RedirectLoop', ['ns/b']],
  ['still waits', 'PlanLimitReached', 'PlanLimitReached', []],
  ['begins to wait', 'Accepted', 'PlanLimitReached', []],
])('a Domain that %s requeues those behind it or not', (_, before, now, want) => {
  const {domains, requeued} = queueOf([domain('a', 0, before), domain('b', 1)]);
  domains.upsert(domain('a', 0, now));
  expect(requeued).toEqual([want]);
});

test('a Domain that is deleted requeues those behind it', () => {
  const {domains, requeued} = queueOf([domain('a', 0, 'Accepted'), domain('b', 1), domain('c', 2)]);
  domains.remove(domain('a', 0, 'Accepted'));
  domains.remove(domain('b', 1, 'Accepted')); // its last version was never cached
  expect(requeued).toEqual([['ns/b', 'ns/c'], ['ns/c']]);
});
