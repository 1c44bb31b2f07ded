import {describe, expect, test} from 'vitest';
import {ApiError} from './errors.ts';
import {parseWatchEvent, splitLines, TruncatedStreamError} from './watch-stream.ts';

async function* chunksOf(...texts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text;
}

describe('splitLines', () => {
  test.each([
    {chunks: [], want: []},
    {chunks: ['a\n'], want: ['a']},
    {chunks: ['a\nb\n'], want: ['a', 'b']},
    {chunks: ['a', 'b', 'c\nd', '\n'], want: ['abc', 'd']},
    {chunks: ['\n\na\n\n'], want: ['a']},
    {chunks: [Buffer.from('é\n').subarray(0, 1), Buffer.from('é\n').subarray(1)], want: ['é']},
  ])('$chunks: $want', async ({chunks, want}) => {
    const lines: string[] = [];
    for await (const line of splitLines(chunksOf(...chunks))) lines.push(line);
    expect(lines).toEqual(want);
  });

  test('a stream that ends inside a line is an error, after the lines before it', async () => {
    const lines: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const line of splitLines(chunksOf('a\nb'))) lines.push(line);
    };
    await expect(reading()).rejects.toThrow(TruncatedStreamError);
    expect(lines).toEqual(['a']);
  });
});

describe('parseWatchEvent', () => {
  const bookmark = (annotations?: object) =>
    JSON.stringify({type: 'BOOKMARK', object: {metadata: {resourceVersion: '7', annotations}}});

  test.each([
    {
      line: '{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
      want: {type: 'ADDED', object: {metadata: {name: 'a'}}},
    },
    {line: bookmark(), want: {type: 'BOOKMARK', resourceVersion: '7', initialEventsEnd: false}},
    {
      line: bookmark({'k8s.io/initial-events-end': 'true'}),
      want: {type: 'BOOKMARK', resourceVersion: '7', initialEventsEnd: true},
    },
    {line: '{"type":"FUTURE","object":{"metadata":{}}}', want: undefined},
  ])('$line', ({line, want}) => {
    expect(parseWatchEvent('GET /x', line)).toEqual(want);
  });

  test('an ERROR event is thrown with its code', () => {
    const line = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}';
    expect(() => parseWatchEvent('GET /x', line)).toThrow(ApiError);
    expect(() => parseWatchEvent('GET /x', line)).toThrow(/410 Expired: too old/);
  });
});
