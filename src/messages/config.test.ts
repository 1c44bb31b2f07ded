import {expect, test} from 'vitest';
import {parseConfig} from '../config/load-config.ts';
import {messagesConfigDefinition} from './config-schema.ts';

test.each([
  ['{store: {kind: postgres}}', 'store.postgres.uriFile is missing; needed: the path of a file'],
  ['{store: {postgres: {uriFile: /uri}}}', 'store.postgres.uriFile is set, but store.kind is sqlite'],
  [
    '{store: {kind: postgres, postgres: {uriFile: /uri, tls: prefer}}}',
    'tls is "prefer"; allowed: verify-full, disable',
  ],
  ['{limits: {account: {bytesPerSecond: 1}}}', 'limits.account.bytesPerSecond is 1, which allows a burst of 5 bytes'],
])('%s: %s', (text, problem) => {
  expect(() => parseConfig(text, 'the file', messagesConfigDefinition)).toThrow(problem);
});

test('by default, messages are in SQLite; PostgreSQL verifies TLS and needs a synchronous standby', () => {
  const {store} = parseConfig('{}', 'the file', messagesConfigDefinition);
  expect(store).toMatchObject({kind: 'sqlite', postgres: {tls: 'verify-full', durability: 'synchronous-standby'}});
});
