import {describe, expect, test} from 'vitest';
import {MESSAGES_HOST} from '../support/install.ts';
import {challengesOnPort80} from './http.suite.ts';
import {protocols} from './protocols.suite.ts';
import {newKey} from './tenant-key.ts';
import {visitor} from './world.ts';

describe('port 80', challengesOnPort80);
describe('protocols', protocols);

test('a key that is sent to the messages API in clear text is refused, and not redirected', async () => {
  const key = await newKey('messages-clear');
  await key.until('', {status: 200});
  const headers = {authorization: 'Bearer any'};
  for (const path of ['/messages', '/', '/.well-known/other']) {
    const answer = await visitor.request(`http://${MESSAGES_HOST}${path}`, {headers});
    expect(answer).toMatchObject({status: 403, location: undefined});
  }
});
