/** How often a managed Domain is corrected, by a client without an API server. */

import {expect, test} from 'vitest';
import {memoryOperator, reconcileContext} from '../../../test/support/memory-operator.ts';
import {domain, project} from '../../../test/support/objects.ts';
import {LABEL} from '../../api/names.ts';
import {done} from '../../runtime/controller/outcome.ts';
import {reconcileManagedDomain} from './managed.ts';

const HOST = 'a.test';

test.each([
  {what: 'changing', isDeleted: false, wants: 'patch'},
  {what: 'deleting', isDeleted: true, wants: 'create'},
])(
  'a Domain that another program keeps $what is corrected a few times, and then only after a pause',
  async ({isDeleted, wants}) => {
    const {operator, put, clock, events} = memoryOperator();
    put({...project('a', 'shop', {primary: HOST}), metadata: {name: 'shop', namespace: 'a', uid: 'p'}});
    const metadata = {name: HOST, namespace: 'a', labels: {[LABEL.managed]: 'true'}};
    if (!isDeleted) put({...domain('a', HOST, 'theirs'), metadata});
    const writes: string[] = [];
    const write = (verb: string) => async () => writes.push(verb);
    const context = reconcileContext({patch: write('patch'), create: write('create')});
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
