/** A tenant's key and the messages API, as the chart installs it. */
import {randomUUID} from 'node:crypto';
import {expect, it} from 'vitest';
import {API_KEY} from '../../src/apikey/apikey.ts';
import {until} from '../cluster/wait.ts';
import {RELEASE} from '../support/install.ts';
import {kill} from '../support/pods.ts';
import {POD} from '../support/workload.ts';
import {jsonPost, newKey} from './tenant-key.ts';
import {admin} from './world.ts';

export function sendingMessages(): void {
  it('a message answered with 202 outlives the pod, is processed once, and is invisible to other accounts', async () => {
    const [mine, theirs] = await Promise.all([newKey('messages-a'), newKey('messages-b')]);
    const text = `hello ${randomUUID()}`;
    const accepted = await mine.until('', {status: 202}, jsonPost({message: text}));
    const {id} = JSON.parse(accepted.body) as {id: string};
    await theirs.until(`/${id}`, {status: 404});

    const pod = {namespace: RELEASE.namespace, name: `${RELEASE.name}-messages-0`};
    await kill(admin, await until('the pod exists', () => admin.get(POD, pod)));
    const claimed = await mine.until('/claim', {status: 200}, jsonPost({}));
    const {messages} = JSON.parse(claimed.body) as {messages: {id: string; message: string; lease: string}[]};
    expect(messages).toEqual([expect.objectContaining({id, message: text})]);
    await mine.until(`/${id}/ack`, {status: 200}, jsonPost({lease: messages[0]?.lease}));
    expect(JSON.parse((await mine.until(`/${id}`, {status: 200})).body)).toMatchObject({status: 'done', message: text});
  });

  it('a key that is revoked is refused from then on', async () => {
    const key = await newKey('messages-end');
    await key.until('', {status: 200});
    await admin.patch(API_KEY, key.name, {spec: {revoked: true}});
    await key.until('', {status: 401});
  });
}
