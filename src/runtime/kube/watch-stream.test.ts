import {describe, expect, test} from 'vitest';
import {ApiError} from './errors.ts';
import {LineSplitter, parseWatchEvent} from './watch-stream.ts';

describe('LineSplitter', () => {
  test.each([
    {chunks: [], want: []},
    {chunks: ['a\n'], want: ['a']},
    {chunks: ['a\nb\n'], want: ['a', 'b']},
    {chunks: ['a', 'b', 'c\nd', '\n'], want: ['abc', 'd']},
    {chunks: ['\n\na\n\n'], want: ['a']},
    {chunks: [Buffer.from('é\n').subarray(0, 1), Buffer.from('é\n').subarray(1)], want: ['é']},
  ])('$chunks: $want', ({chunks, want}) => {
    const splitter = new LineSplitter();
    expect(chunks.flatMap(chunk => [...splitter.push(Buffer.from(chunk))])).toEqual(want);
    expect(() => splitter.end()).not.toThrow();
  });

  test('a stream that ends inside a line is an error, after the lines before it', () => {
    const splitter = new LineSplitter();
    expect([...splitter.push(Buffer.from('a\nb'))]).toEqual(['a']);
    expect(() => splitter.end()).toThrow('inside a line');
    expect(() => splitter.end()).not.toThrow();
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
