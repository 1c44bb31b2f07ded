/** Every condition of an ACMEIssuer, with a message that says who must do what next. */
import {conditionBuilders} from '../../api/conditions.ts';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains each of them. */
const ISSUER_REASONS = {
  Ready: [
    'AccountReady',
    'ChangingKey',
    'KeyChangeRefused',
    'ChallengesUnanswered',
    'CaUnreachable',
    'AccountRefused',
    'AccountKeyMissing',
    'BindingMissing',
    'NotConfigured',
  ],
  Reachable: ['Answering', 'NotAnswering', 'Unknown'],
} as const;

const {Ready: ready, Reachable: reachable} = conditionBuilders(ISSUER_REASONS);

export const IssuerReady = {
  /** Secrets are named as in "namespace/name". */
  yes: (uri: string, secret: string) =>
    ready('True', 'AccountReady', `The platform's account at the CA is ${uri}, with the key in Secret ${secret}.`),
  changingKey: (secret: string, why: string) => {
    const message = `The account is getting the key in Secret ${secret}: ${why}. Meanwhile, no order is placed. Nameplate will continue automatically.`;
    return ready('False', 'ChangingKey', message);
  },
  /** `trouble`: why no challenge is answered with the former key. */
  keyChangeRefused: (secret: string, why: string, trouble: string | undefined) => {
    const effect =
      trouble === undefined
        ? 'It keeps its former key, with which certificates are still issued'
        : `It keeps its former key, with which no certificate is issued, because ${trouble}`;
    const message = `The CA refuses to give the account the key in Secret ${secret}: ${why.replace(/[.\s]+$/, '')}. ${effect}. Name the former Secret again, or fix the cause and restart the operator, which will then retry.`;
    return ready(trouble === undefined ? 'True' : 'False', 'KeyChangeRefused', message);
  },
  unanswered: (why: string) => {
    const message = `The account has its key, but no challenge is answered: ${why}. Wait for two minutes, then delete the pods of the challenge responder that do not answer with this key. Nameplate will continue automatically.`;
    return ready('False', 'ChallengesUnanswered', message);
  },
  unreachable: (why: string) =>
    ready('False', 'CaUnreachable', `The CA does not answer: ${why}. Check spec.server and the network. ${RETRY}`),
  refused: (why: string, todo = 'Fix the cause.') =>
    ready(
      'False',
      'AccountRefused',
      `The CA refuses the platform's account: ${why.replace(/[.\s]+$/, '')}. ${todo} ${RETRY}`,
    ),
  keyMissing: (message: string) => ready('False', 'AccountKeyMissing', message),
  bindingMissing: (secret: string, key: string) => {
    const message = `Secret ${secret}, which spec.externalAccountBinding names, does not exist or has no HMAC key in base64url under ${key}. Create it with the key as the CA shows it. ${RETRY}`;
    return ready('False', 'BindingMissing', message);
  },
  notConfigured: () => {
    const message =
      'No option of the configuration names this ACMEIssuer, so Nameplate does not use it. Name it in config.certificates.issuerRef, or delete it.';
    return ready('False', 'NotConfigured', message);
  },
} as const;

const RETRY = 'Nameplate will retry.';

/** What to do about a CA that refuses an account that had certificates before. */
export const BEGIN_AGAIN =
  'If it is deactivated, begin with another one: see "The account key is lost" in docs/operations.md.';

/** What to do about a CA that refuses the account. `secret`: of the binding, if the issuer has one. */
export function refusalTodo(type: string, secret: string | undefined): string | undefined {
  if (type === 'externalAccountRequired') {
    return 'Set spec.externalAccountBinding to the credentials that the CA shows for ACME clients.';
  }
  if (secret === undefined || type !== 'unauthorized') return undefined;
  return `Compare spec.externalAccountBinding.keyID and Secret ${secret} with the credentials that the CA shows.`;
}

export const Reachable = {
  yes: () => reachable('True', 'Answering', 'The CA answers.'),
  no: (since: string, why: string) => {
    const message = `The CA has not answered since ${since}: ${why}. Check the network and the CA's status page. No certificate is issued or renewed until it answers; Nameplate keeps trying.`;
    return reachable('False', 'NotAnswering', message);
  },
  unknown: () => reachable('Unknown', 'Unknown', 'Nameplate has not reached the CA yet.'),
} as const;
