/** Every condition of an APIKey: its closed set of reasons, and the message that says who must do what next. */
import type {DecidedCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';

export type ApiKeyConditionType = 'Active' | 'Ready' | 'Reconciling' | 'Stalled';

/** The closed set of reasons of each condition, the good ones first; docs/conditions.md explains every one. */
export const API_KEY_REASONS = {
  Active: ['Active', 'Rotating', 'Revoked', 'Expired', 'NotIssued'],
  Ready: ['Issued', 'Revoked', 'Expired', 'SecretConflict', 'SecretInvalid', 'KeyInUse', 'Refused'],
} as const;

type Reason<Type extends keyof typeof API_KEY_REASONS> = (typeof API_KEY_REASONS)[Type][number];

export type ApiKeyCondition = DecidedCondition<ApiKeyConditionType>;

/** What only a person can mend: Stalled at once. */
export const STALLED: ReadonlySet<string> = new Set<Reason<'Ready'>>(['SecretConflict', 'SecretInvalid', 'KeyInUse']);

function condition<Type extends keyof typeof API_KEY_REASONS>(type: Type) {
  return (status: 'True' | 'False', reason: Reason<Type>, message: string): ApiKeyCondition => ({
    type,
    status,
    reason,
    message,
  });
}

const active = condition('Active');
const ready = condition('Ready');

const ANOTHER = 'Make another APIKey to have a key again.';

export const Active = {
  yes: (expiresAt: string | undefined) =>
    active('True', 'Active', `The key works${expiresAt ? ` until ${expiresAt}` : ''}.`),
  rotating: (name: string, validUntil: string) =>
    active(
      'True',
      'Rotating',
      `The new key works, and the one before until ${validUntil}. Give the new one to every client by then; to end the one before now: kubectl patch apikey ${name} --type merge -p '{"spec":{"rotation":{"overlapSeconds":0}}}'`,
    ),
  revoked: () => active('False', 'Revoked', `The key was revoked by spec.revoked. ${ANOTHER}`),
  expired: (expiresAt: string) =>
    active(
      'False',
      'Expired',
      `The key expired at ${expiresAt}. Set a later spec.expiresAt for it to work again, or make another APIKey.`,
    ),
  notIssued: (why: string) => active('False', 'NotIssued', `There is no key that works. ${why}`),
} as const;

export const KeyReady = {
  issued: (name: string, secret: string) =>
    ready(
      'True',
      'Issued',
      `The key is in Secret ${secret}: kubectl get secret ${secret} -o jsonpath='{.data.key}' | base64 -d. For a new one: kubectl annotate --overwrite apikey ${name} ${ANNOTATION.rotateRequestedAt}="$(date +%s)"`,
    ),
  revoked: () => ready('True', 'Revoked', `The key is revoked, as the spec wants. ${ANOTHER}`),
  expired: (expiresAt: string) => ready('True', 'Expired', `The key has expired at ${expiresAt}, as the spec wants.`),
  secretConflict: (secret: string) =>
    ready(
      'False',
      'SecretConflict',
      `Secret ${secret} exists and was not made for this APIKey, so it is left alone. Delete or rename it (kubectl describe secret ${secret}), and this goes on by itself; or make another APIKey with another spec.secretName.`,
    ),
  secretInvalid: (secret: string) =>
    ready(
      'False',
      'SecretInvalid',
      `What Secret ${secret} holds under 'key' is not a key that Nameplate made. Put the key back; or delete the Secret (kubectl delete secret ${secret}), and a new key is made.`,
    ),
  keyInUse: (secret: string) =>
    ready(
      'False',
      'KeyInUse',
      `Another APIKey held the key in Secret ${secret} before this one, so the key does not work here. Delete the Secret (kubectl delete secret ${secret}). Nameplate then creates a new key.`,
    ),
  refused: (secret: string, message: string) =>
    ready(
      'False',
      'Refused',
      `The API server refused Secret ${secret}: ${message.replace(/[.\s]+$/, '')}. It is tried again; the platform team can mend what it names.`,
    ),
} as const;

/** https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: both are absent once all is done. */
export function progressOfKey({status, reason, message}: ApiKeyCondition): ApiKeyCondition[] {
  if (status === 'True') return [];
  return [{type: STALLED.has(reason) ? 'Stalled' : 'Reconciling', status: 'True', reason, message}];
}
