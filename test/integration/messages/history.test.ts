import {expect, test} from 'vitest';
import {History, type Span} from './history.ts';

const span = (began: number, ended: number): Span => ({began, ended});

const rows = [
  {case: 'a read during the submission may show the message or not', read: span(1, 3), want: []},
  {case: 'a read after it must show it', read: span(5, 6), want: ['m was there, and then it was not']},
] as const;

test.each(rows)('$case', ({read, want}) => {
  for (const how of ['get', 'page']) {
    const history = new History();
    history.submitted('m', 0);
    history.shown('m', 'id-2', span(0, 4));
    if (how === 'get') history.missed('m', read);
    else history.page({...read, after: 'id-1', upTo: 'id-2', ids: new Set()});
    history.page({...read, after: '', upTo: 'id-1', ids: new Set()});
    history.page({...read, after: 'id-2', upTo: undefined, ids: new Set()});
    expect(history.violations(), how).toEqual(want);
  }
});

test('a page must show each message that was there before, however many it does not have to show', () => {
  const history = new History();
  const times = {a: 9, b: 1, c: 9, d: 1, e: 9};
  for (const [id, ended] of Object.entries(times)) {
    history.submitted(id, 0);
    history.shown(id, id, span(0, ended));
  }
  history.page({...span(5, 6), after: '', upTo: undefined, ids: new Set(['b'])});
  expect(history.violations()).toEqual(['d was there, and then it was not']);
});

test('a read that showed an unanswered submission binds later ones', () => {
  const history = new History();
  history.submitted('m', 0);
  history.shown('m', 'id', span(1, 2));
  history.missed('m', span(3, 4));
  expect(history.violations()).toEqual(['m was there, and then it was not']);
});

test('a message has one id, which no other message has, and is seen by nobody before its submission', () => {
  const history = new History();
  history.submitted('m', 5);
  history.shown('m', 'id-1', span(0, 1));
  history.shown('m', 'id-2', span(6, 7));
  history.submitted('n', 0);
  history.shown('n', 'id-1', span(1, 2));
  expect(history.violations()).toEqual([
    'm has the ids id-1 and id-2',
    'm was seen before it was submitted',
    'n and m have the same id',
  ]);
});

test('a status never goes back, a message has one lease, and only an ack makes it done', () => {
  const history = new History();
  history.submitted('m', 0);
  history.shown('m', 'id', span(0, 1), 'queued');
  history.leased('m', 'id', span(2, 4), 'lease');
  history.shown('m', 'id', span(3, 6), 'queued'); // it began before the claim was answered
  history.shown('m', 'id', span(5, 6), 'leased');
  history.acknowledged('m', 7);
  history.shown('m', 'id', span(7, 9), 'done');
  history.shown('m', 'id', span(8, 9), 'leased');
  history.shown('m', 'id', span(20, 21)); // a repeated submission, whose answer does not show the status
  expect(history.violations()).toEqual([]);
  history.shown('m', 'id', span(5, 6), 'queued');
  history.leased('m', 'id', span(10, 11), 'other');
  history.shown('m', 'id', span(6, 6), 'done');
  expect(history.violations()).toEqual([
    'm was leased, and then queued',
    'm was done, and then leased',
    'm was done, and then leased',
    'm was done before it was acknowledged',
    'm was leased to 2 workers',
  ]);
});
