/** Every condition of an APIKey, with its closed set of reasons and a message that says who must do what next. */
import {conditionBuilders, type DecidedCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {explainRefusal, explainRetrying} from '../model/write-conditions.ts';

export type ApiKeyConditionType = 'Active' | 'Ready' | 'Reconciling' | 'Stalled';

/** The closed set of reasons of each condition, the good ones first; docs/conditions.md explains each of them. */
export const API_KEY_REASONS = {
  Active: ['Active', 'Rotating', 'Revoked', 'Expired', 'NotIssued'],
  Ready: ['Issued', 'Revoked', 'Expired', 'SecretConflict', 'SecretInvalid', 'KeyInUse', 'Refused', 'Retrying'],
} as const;

type Reason<Type extends keyof typeof API_KEY_REASONS> = (typeof API_KEY_REASONS)[Type][number];

export type ApiKeyCondition = DecidedCondition<ApiKeyConditionType>;

/** Only a person can fix these: the APIKey is Stalled immediately. */
export const STALLED: ReadonlySet<string> = new Set<Reason<'Ready'>>(['SecretConflict', 'SecretInvalid', 'KeyInUse']);

const {Active: active, Ready: ready} = conditionBuilders(API_KEY_REASONS);

const ANOTHER = 'Create another APIKey to get a new key.';

export const Active = {
  yes: (expiresAt: string | undefined) =>
    active('True', 'Active', `The key works${expiresAt ? ` until ${expiresAt}` : ''}.`),
  rotating: (name: string, validUntil: string) =>
    active(
      'True',
      'Rotating',
      `The new key works, and the previous one works until ${validUntil}. Give the new key to every client by then. To end the previous key now, run: kubectl patch apikey ${name} --type merge -p '{"spec":{"rotation":{"overlapSeconds":0}}}'`,
    ),
  revoked: () => active('False', 'Revoked', `The key was revoked by spec.revoked. ${ANOTHER}`),
  expired: (expiresAt: string) =>
    active(
      'False',
      'Expired',
      `The key expired at ${expiresAt}. Set a later spec.expiresAt to make it work again, or create another APIKey.`,
    ),
  notIssued: (why: string) => active('False', 'NotIssued', `This APIKey has no working key. ${why}`),
} as const;

export const KeyReady = {
  issued: (name: string, secret: string) =>
    ready(
      'True',
      'Issued',
      `The key is in Secret ${secret}: kubectl get secret ${secret} -o jsonpath='{.data.key}' | base64 -d. To replace it, run: kubectl annotate --overwrite apikey ${name} ${ANNOTATION.rotateRequestedAt}="$(date +%s)"`,
    ),
  revoked: () => ready('True', 'Revoked', `The key is revoked, as specified. ${ANOTHER}`),
  expired: (expiresAt: string) => ready('True', 'Expired', `The key expired at ${expiresAt}, as specified.`),
  secretConflict: (secret: string) =>
    ready(
      'False',
      'SecretConflict',
      `Secret ${secret} already exists and was not created for this APIKey, so Nameplate does not change it. Inspect it (kubectl describe secret ${secret}) and delete it; Nameplate will then continue automatically. Or create another APIKey with a different spec.secretName.`,
    ),
  secretInvalid: (secret: string) =>
    ready(
      'False',
      'SecretInvalid',
      `The value of 'key' in Secret ${secret} is not a key that Nameplate created. Restore the key, or delete the Secret (kubectl delete secret ${secret}). Nameplate then creates a new key.`,
    ),
  keyInUse: (secret: string) =>
    ready(
      'False',
      'KeyInUse',
      `Another APIKey held the key in Secret ${secret} before this one, so the key does not work here. Delete the Secret (kubectl delete secret ${secret}). Nameplate then creates a new key.`,
    ),
  refused: (secret: string, message: string, works: boolean) =>
    ready(
      works ? 'True' : 'False',
      'Refused',
      `${explainRefusal(`Secret ${secret}`, message)}${works ? ' Until then, the current key works.' : ''}`,
    ),
  retrying: (secret: string, message: string) =>
    ready('False', 'Retrying', explainRetrying(`Secret ${secret}`, message)),
} as const;

/**
 * https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: both are absent once everything is
 * done.
 */
export function progressOfKey({status, reason, message}: ApiKeyCondition): ApiKeyCondition[] {
  if (status === 'True' && reason !== 'Refused') return [];
  return [{type: STALLED.has(reason) ? 'Stalled' : 'Reconciling', status: 'True', reason, message}];
}
