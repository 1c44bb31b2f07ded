import {expect, test} from 'vitest';
import {judgeVisit, type ProbeQuestion, type ProbeReason} from './judge.ts';
import type {Response, ServedCertificate, VisitResult} from './visit.ts';

const ISSUED = {notBefore: '2026-01-01T00:00:00Z', notAfter: '2026-04-01T00:00:00Z'};
const BEFORE = {notBefore: '2025-11-01T00:00:00Z', notAfter: '2026-02-01T00:00:00Z'};
const HOST = 'shop.example.com';
const serving: ProbeQuestion = {host: HOST, certificate: ISSUED};
const redirecting: ProbeQuestion = {...serving, redirect: {to: 'www.example.com', status: 301}};
const proven: ProbeQuestion = {
  ...serving,
  route: {path: '/.well-known/nameplate', location: '/.well-known/nameplate/ours'},
};

const right = certificate();

function certificate({names = [HOST], validity = ISSUED} = {}): ServedCertificate {
  return {names, notBeforeMs: Date.parse(validity.notBefore), notAfterMs: Date.parse(validity.notAfter)};
}

function answered(served: ServedCertificate, response?: Response): VisitResult {
  return {kind: 'answered', certificate: served, ...(response && {response})};
}

const to = (location: string, status = 301) => answered(right, {status, location});

test.each<{case: string; question: ProbeQuestion; answer: VisitResult; reason: ProbeReason; says?: string}>([
  {case: 'its certificate', question: serving, answer: answered(right), reason: 'Answering'},
  {
    case: 'the certificate of another host',
    question: serving,
    answer: answered(certificate({names: ['other.example.com']})),
    reason: 'WrongCertificate',
    says: 'a certificate for other.example.com (2026-01-01 to 2026-04-01) for shop.example.com',
  },
  {
    case: 'a certificate that also covers other hosts',
    question: serving,
    answer: answered(certificate({names: [HOST, 'www.example.com']})),
    reason: 'WrongCertificate',
  },
  {
    case: 'a certificate without names',
    question: serving,
    answer: answered(certificate({names: []})),
    reason: 'WrongCertificate',
  },
  {
    case: 'an older certificate of the host',
    question: serving,
    answer: answered(certificate({validity: BEFORE})),
    reason: 'WrongCertificate',
  },
  {
    case: 'the certificate before a renewal',
    question: {...serving, previous: BEFORE},
    answer: answered(certificate({validity: BEFORE})),
    reason: 'Answering',
  },
  {case: 'no connection', question: serving, answer: {kind: 'unreachable', why: 'refused'}, reason: 'EdgeUnreachable'},
  {case: 'silence', question: serving, answer: {kind: 'silent', why: 'nothing'}, reason: 'EdgeUnreachable'},
  {case: 'a closed connection', question: serving, answer: {kind: 'closed', why: 'alert'}, reason: 'NoAnswer'},
  {case: 'its redirect', question: redirecting, answer: to('https://www.example.com/'), reason: 'Answering'},
  {
    case: 'a redirect with another status',
    question: redirecting,
    answer: to('https://www.example.com/', 302),
    reason: 'WrongRedirect',
    says: '302 to https://www.example.com/ instead of a redirect to https://www.example.com/ with 301',
  },
  {
    case: 'a redirect to another host',
    question: redirecting,
    answer: to('https://evil.example/'),
    reason: 'WrongRedirect',
  },
  {
    case: 'no response instead of a redirect',
    question: redirecting,
    answer: answered(right, {status: 0}),
    reason: 'WrongRedirect',
    says: 'no response',
  },
  {case: 'its own route', question: proven, answer: to('/.well-known/nameplate/ours', 302), reason: 'Answering'},
  {
    case: 'its own route, with a full URL',
    question: proven,
    answer: to(`https://${HOST}/.well-known/nameplate/ours`, 302),
    reason: 'Answering',
  },
  {
    case: "another host's route",
    question: proven,
    answer: to('/.well-known/nameplate/theirs', 302),
    reason: 'WrongRoute',
  },
  {case: 'a route that is not ours', question: proven, answer: answered(right, {status: 200}), reason: 'WrongRoute'},
])('$case: $reason', ({question, answer, reason, says = ''}) => {
  const verdict = judgeVisit(question, answer);
  expect(verdict.reason).toBe(reason);
  expect(verdict.verified).toBe(reason === 'Answering');
  expect(verdict.agreed).toBe(reason !== 'EdgeUnreachable');
  expect(verdict.message).toContain(says);
});

test('what a server says is cut, and contains no control characters', () => {
  const names = Array.from({length: 100}, () => `${'\u0007'.repeat(60)}.example`);
  const {message} = judgeVisit(serving, answered(certificate({names})));
  expect(message.length).toBeLessThan(300);
  expect(message).toMatch(/^[ -~]+$/);
  expect(judgeVisit(redirecting, to(`https://${'a'.repeat(5000)}/`)).message.length).toBeLessThan(400);
});
