/** The example database for the messages API provides what the pods need. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {parse, parseAllDocuments} from 'yaml';
import {parseConfig} from '../../src/config/load-config.ts';
import type {MessagesConfig} from '../../src/messages/config.ts';
import {messagesConfigDefinition} from '../../src/messages/config-schema.ts';
import {CONNECTIONS_BESIDE_WRITERS} from '../../src/messages/store/postgres/postgres-store.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const example = read('examples/cloudnativepg.yaml');
const [{spec}, scheduled] = parseAllDocuments(example).map(document => document.toJS());
const {writers} = parseConfig<MessagesConfig>('{}', 'the defaults', messagesConfigDefinition).store.postgres;

test('an acknowledged message survives a failover', () => {
  expect(spec.instances).toBeGreaterThanOrEqual(3);
  expect(spec.postgresql.synchronous).toEqual({
    method: 'any',
    number: 1,
    dataDurability: 'required',
    failoverQuorum: true,
  });
});

test('the role can see whether it does', () => {
  const {owner, postInitSQL} = spec.bootstrap.initdb;
  expect(postInitSQL).toEqual([`GRANT pg_read_all_stats TO ${owner}`]);
});

test('its backups are complete without an archive of the WAL', () => {
  expect(scheduled.spec).toMatchObject({cluster: {name: 'messages-db'}, method: 'volumeSnapshot'});
  expect(spec.backup.volumeSnapshot.online).toBe(false);
});

test('a snapshot is deleted with its Backup, and a Backup with nothing else', () => {
  expect(spec.backup.volumeSnapshot.snapshotOwnerReference).toBe('backup');
  expect(scheduled.spec.backupOwnerReference).toBe('none');
});

test('all pods of an autoscaled Deployment, during an update, have their connections', () => {
  const {maxReplicas} = parse(read('charts/nameplate/values.yaml')).messages.postgres.autoscaling;
  const perPod = writers + CONNECTIONS_BESIDE_WRITERS;
  expect(Number(spec.postgresql.parameters.max_connections)).toBeGreaterThan(2 * maxReplicas * perPod);
});

test.each(['examples/cloudnativepg.yaml', 'docs/running-messages.md'])(
  '%s says how many connections a pod has',
  path => {
    const said = /`messages\.config\.store\.postgres\.writers` \((\d+)\)\s+(?:connections )?and four more/.exec(
      read(path),
    );
    expect(Number(said?.[1])).toBe(writers);
    expect(CONNECTIONS_BESIDE_WRITERS).toBe(4);
  },
);
