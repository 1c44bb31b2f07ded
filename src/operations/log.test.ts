import {describe, expect, test} from 'vitest';
import {createLogger} from './log.ts';

function capture(level = 'info') {
  const lines: string[] = [];
  const logger = createLogger({level, program: 'operator', destination: {write: line => void lines.push(line)}});
  return {logger, entries: () => lines.map(line => JSON.parse(line) as Record<string, unknown>)};
}

test('a line has level, time, program and message', () => {
  const {logger, entries} = capture();
  logger.info({host: 'shop.example.com'}, 'verified');
  expect(entries()).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      program: 'operator',
      host: 'shop.example.com',
      message: 'verified',
    },
  ]);
});

test('lines below the level are left out', () => {
  const {logger, entries} = capture('warn');
  logger.info('not this');
  logger.warn('this');
  expect(entries()).toMatchObject([{message: 'this'}]);
});

test('an error has its stack and its cause', () => {
  const {logger, entries} = capture();
  logger.error({err: new Error('cannot list domains', {cause: new Error('connection refused')})}, 'list failed');
  expect(entries()).toMatchObject([
    {
      err: {
        message: 'cannot list domains',
        stack: expect.stringContaining('log.test.ts'),
        cause: {message: 'connection refused'},
      },
    },
  ]);
});

test('an error without a message becomes the message of the log line', () => {
  const {logger, entries} = capture();
  logger.error(new Error('boom'));
  expect(entries()).toMatchObject([{message: 'boom', err: {message: 'boom'}}]);
});

describe('what is never written', () => {
  test.each([
    ['a token', {token: 's3cret'}],
    ['an authorization header', {request: {headers: {authorization: 's3cret'}}}],
    ['a password within', {config: {password: 's3cret'}}],
    ['the private key of a TLS Secret', {object: {data: {'tls.key': 's3cret'}}}],
    ['the platform key', {secret: {data: {'platform.key': 's3cret'}}}],
    ['a private key in a child logger', {child: {privateKey: 's3cret'}}],
  ])('%s', (_, fields) => {
    const {logger, entries} = capture();
    logger.info(fields, 'line');
    logger.child(fields).info('line of a child');
    expect(JSON.stringify(entries())).not.toContain('s3cret');
    expect(entries()).toHaveLength(2);
  });
});
