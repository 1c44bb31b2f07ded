import {expect, test} from 'vitest';
import {judgeVisit, type ProbeQuestion, type ProbeReason} from './judge.ts';
import type {Response, ServedCertificate, VisitResult} from './visit.ts';

const ISSUED = {notBefore: '2026-01-01T00:00:00Z', notAfter: '2026-04-01T00:00:00Z'};
const NOW_MS = Date.parse('2026-02-15T00:00:00Z');
const EXPIRED = {notBefore: '2025-11-01T00:00:00Z', notAfter: '2026-02-01T00:00:00Z'};
const EARLY = {notBefore: '2026-03-01T00:00:00Z', notAfter: '2026-06-01T00:00:00Z'};
const OTHER_VALID = {notBefore: '2026-02-15T01:00:00Z', notAfter: '2026-02-16T00:00:00Z'};
const HOST = 'shop.example.com';
const serving: ProbeQuestion = {host: HOST};
const redirecting: ProbeQuestion = {...serving, redirect: {to: 'www.example.com', status: 301}};
const proven: ProbeQuestion = {
  ...serving,
  route: {path: '/.well-known/nameplate', location: '/.well-known/nameplate/ours'},
};

const right = certificate();

function certificate({names = [HOST], validity = ISSUED, untrusted = ''} = {}): ServedCertificate {
  const [notBeforeMs, notAfterMs] = [Date.parse(validity.notBefore), Date.parse(validity.notAfter)];
  return {names, notBeforeMs, notAfterMs, ...(untrusted && {untrusted})};
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
    answer: answered(certificate({names: ['aaa.example.com', HOST]})),
    reason: 'Answering',
  },
  {
    case: 'a wildcard that covers the host',
    question: serving,
    answer: answered(certificate({names: ['*.example.com']})),
    reason: 'Answering',
  },
  // attack: wildcard-over-host
  {
    case: 'a wildcard that covers the host, which has a certificate of its own',
    question: {...serving, isNamed: true},
    answer: answered(certificate({names: ['*.example.com']})),
    reason: 'WrongCertificate',
    says: 'a certificate for *.example.com',
  },
  {
    case: 'a certificate that names the host and others, of which one must name it',
    question: {...serving, isNamed: true},
    answer: answered(certificate({names: ['aaa.example.com', HOST]})),
    reason: 'Answering',
  },
  {
    case: 'a wildcard for another level',
    question: serving,
    answer: answered(certificate({names: ['*.com', '*.shop.example.com', '*']})),
    reason: 'WrongCertificate',
  },
  {
    case: 'a certificate without names',
    question: serving,
    answer: answered(certificate({names: []})),
    reason: 'WrongCertificate',
  },
  {
    case: 'a certificate that has expired, even if it is the one that was issued',
    question: serving,
    answer: answered(certificate({validity: EXPIRED})),
    reason: 'WrongCertificate',
    says: 'which has expired',
  },
  {
    case: 'a certificate that is not valid yet',
    question: serving,
    answer: answered(certificate({validity: EARLY})),
    reason: 'WrongCertificate',
    says: 'which is not valid yet',
  },
  {
    case: 'another certificate that is valid, from a clock that is an hour ahead',
    question: serving,
    answer: answered(certificate({validity: OTHER_VALID})),
    reason: 'Answering',
  },
  {
    case: 'a self-signed certificate',
    question: serving,
    answer: answered(certificate({untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT'})),
    reason: 'WrongCertificate',
    says: 'which is self-signed',
  },
  {
    case: 'a self-signed certificate of an issuer that signs so',
    question: {...serving, allowsSelfSigned: true},
    answer: answered(certificate({untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT'})),
    reason: 'Answering',
    says: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  {
    case: 'a certificate of a private authority',
    question: serving,
    answer: answered(certificate({untrusted: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'})),
    reason: 'Answering',
    says: 'does not end at a certificate authority that Nameplate knows (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
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
  const verdict = judgeVisit(question, answer, NOW_MS);
  expect(verdict.reason).toBe(reason);
  expect(verdict.verified).toBe(reason === 'Answering');
  expect(verdict.agreed).toBe(reason !== 'EdgeUnreachable');
  expect(verdict.message).toContain(says);
});

// attack: hostile-probe
test('what a server says is cut, and contains no control characters', () => {
  const names = Array.from({length: 100}, () => `${'\u0007'.repeat(60)}.example`);
  const {message} = judgeVisit(serving, answered(certificate({names})), NOW_MS);
  expect(message.length).toBeLessThan(300);
  expect(message).toMatch(/^[ -~]+$/);
  expect(judgeVisit(redirecting, to(`https://${'a'.repeat(5000)}/`), NOW_MS).message.length).toBeLessThan(400);
});
