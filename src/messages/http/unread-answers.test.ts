import {EventEmitter} from 'node:events';
import type {ServerResponse} from 'node:http';
import {expect, test} from 'vitest';
import {UnreadAnswers} from './unread-answers.ts';

const MIB = 1 << 20;

test('beyond 8 MiB, the response that has waited longest is cut, unless it was sent', () => {
  const answers = new UnreadAnswers();
  const cut: string[] = [];
  const add = (name: string, bytes: number) => {
    const response = Object.assign(new EventEmitter(), {destroy: () => cut.push(name)});
    answers.add(response as unknown as ServerResponse, bytes);
    return response;
  };
  add('first', MIB);
  const sent = add('sent', 2 * MIB);
  add('second', 4 * MIB);
  add('third', 2 * MIB);
  expect(cut).toEqual(['first']);
  sent.emit('close');
  add('fourth', 2 * MIB);
  expect(cut).toEqual(['first']);
  add('fifth', 3 * MIB);
  expect(cut).toEqual(['first', 'second']);
});
