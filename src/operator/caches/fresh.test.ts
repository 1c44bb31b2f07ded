/** Deletes objects that were written after they were judged, with a client that has no API server. */

import {expect, test} from 'vitest';
import {apiOf} from '../../../test/support/memory-operator.ts';
import type {DeleteOptions} from '../../runtime/kube/calls.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {INGRESS} from '../kinds/kinds.ts';
import {deleteJudged} from './fresh.ts';

test.each([
  {what: 'that is still to go', uid: 'u', isJustified: true, isDeleted: true},
  {what: 'that may stay now', uid: 'u', isJustified: false, isDeleted: false},
  {what: 'that is another one of its name', uid: 'other', isJustified: true, isDeleted: false},
])('an object $what, written since it was judged: deleted $isDeleted', async ({uid, isJustified, isDeleted}) => {
  const [name, namespace] = ['np-a', 'a'];
  const current = {apiVersion: 'v1', kind: 'Ingress', metadata: {name, namespace, uid, resourceVersion: '2'}};
  const judged = {...current, metadata: {...current.metadata, uid: 'u', resourceVersion: '1'}};
  let deleted = false;
  const client = {
    async *list() {
      yield {items: [current]};
    },
    delete: async (_kind: unknown, _key: unknown, {preconditions = {}}: DeleteOptions) => {
      const {uid: wantedUid = uid, resourceVersion = '2'} = preconditions;
      if (wantedUid !== uid || resourceVersion !== '2') throw new ApiError('DELETE', 409, {reason: 'Conflict'});
      deleted = true;
    },
  };
  const deletion = deleteJudged(apiOf(client), INGRESS, judged, async () => isJustified);
  if (isDeleted) await deletion;
  else await expect(deletion).rejects.toMatchObject({status: 409});
  expect(deleted).toBe(isDeleted);
});
