/** How often a managed Domain is corrected, by a client without an API server. */
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {LABEL} from '../../api/names.ts';
import {Corrections} from '../../runtime/apply/corrections.ts';
import type {ReconcileContext} from '../../runtime/controller/controller.ts';
import {done} from '../../runtime/controller/outcome.ts';
import type {ProjectOperator} from './context.ts';
import {reconcileManagedDomain} from './managed.ts';

const HOST = 'a.test';

test.each([
  {what: 'changing', isDeleted: false, wants: 'patch'},
  {what: 'deleting', isDeleted: true, wants: 'create'},
])(
  'a Domain that another program keeps $what is corrected a few times, and then only after a pause',
  async ({isDeleted, wants}) => {
    const clock = new ManualClock();
    const project = {metadata: {name: 'shop', namespace: 'a', uid: 'p'}, spec: {domains: {primary: HOST}}};
    const metadata = {name: HOST, namespace: 'a', labels: {[LABEL.managed]: 'true'}};
    const domain = {kind: 'Domain', metadata, spec: {host: HOST, projectRef: {name: 'theirs'}}};
    const events: string[] = [];
    const writes: string[] = [];
    const operator = {
      stores: {
        projects: {state: 'synced', byIndex: () => [project], get: () => project},
        domains: {get: () => (isDeleted ? undefined : domain)},
        namespaces: {get: () => undefined},
      },
      places: {projects: {has: () => true}},
      config: {controller: {paused: false}},
      events: {event: (_: unknown, type: string, reason: string) => events.push(`${type} ${reason}`)},
      corrections: new Corrections(clock),
      clock,
    } as unknown as ProjectOperator;
    const write = (verb: string) => async () => writes.push(verb);
    const client = {patch: write('patch'), create: write('create')};
    const context = {client, signal: new AbortController().signal} as unknown as ReconcileContext;
    const reconcile = reconcileManagedDomain(operator);
    for (let edits = 0; edits < 6; edits++) expect(await reconcile(`a/${HOST}`, context)).toEqual(done());
    expect({writes, events}).toEqual({writes: Array(6).fill(wants), events: []});
    expect(await reconcile(`a/${HOST}`, context)).toEqual({kind: 'after', ms: 1000});
    expect({writes: writes.length, events}).toEqual({writes: 6, events: ['Warning Contested']});
    await clock.advance(1000);
    expect(await reconcile(`a/${HOST}`, context)).toEqual(done());
    expect(writes).toHaveLength(7);
  },
);
