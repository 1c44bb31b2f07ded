/** Every condition of an APIKey, with its closed set of reasons and a message that says who must do what next. */
import {conditionBuilders, counted, type DecidedCondition, IN_NAMESPACE} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {explainRefusal, explainRetrying} from '../kinds/steps.ts';

/** The closed set of reasons of each condition, the good ones first; docs/conditions.md explains each of them. */
export const API_KEY_REASONS = {
  Active: ['Active', 'Rotating', 'Revoked', 'Expired', 'NotIssued'],
  Ready: [
    'Issued',
    'Revoked',
    'Expired',
    'SecretConflict',
    'SecretInvalid',
    'KeyInUse',
    'PlanLimitReached',
    'Refused',
    'Retrying',
    'Paused',
  ],
} as const;

type Reason<Type extends keyof typeof API_KEY_REASONS> = (typeof API_KEY_REASONS)[Type][number];

export type ApiKeyCondition = DecidedCondition<keyof typeof API_KEY_REASONS>;

/** Only a person can fix these: the APIKey is Stalled immediately. */
export const STALLED: ReadonlySet<string> = new Set<Reason<'Ready'>>([
  'SecretConflict',
  'SecretInvalid',
  'KeyInUse',
  'PlanLimitReached',
]);

const {Active: active, Ready: ready} = conditionBuilders(API_KEY_REASONS);

const ANOTHER = 'Create another APIKey to get a new key.';

export const Active = {
  yes: (expiresAt: string | undefined) =>
    active('True', 'Active', `The key works${expiresAt ? ` until ${expiresAt}` : ''}.`),
  rotating: (name: string, validUntil: string) => {
    const message = `The new key works, and the previous one works until ${validUntil}. Give the new key to every client by then. To end the previous key now, run: kubectl patch apikey ${IN_NAMESPACE} ${name} --type merge -p '{"spec":{"rotation":{"overlapSeconds":0}}}'`;
    return active('True', 'Rotating', message);
  },
  revoked: () => active('False', 'Revoked', `The key was revoked by spec.revoked. ${ANOTHER}`),
  expired: (expiresAt: string) => {
    const message = `The key expired at ${expiresAt}. Set a later spec.expiresAt to make it work again, or create another APIKey.`;
    return active('False', 'Expired', message);
  },
  notIssued: (why: string) => active('False', 'NotIssued', `This APIKey has no working key. ${why}`),
} as const;

export const KeyReady = {
  issued: (name: string, secret: string) => {
    const message = `The key is in Secret ${secret}: kubectl get secret ${IN_NAMESPACE} ${secret} -o jsonpath='{.data.key}' | base64 -d. To replace it, run: kubectl annotate --overwrite apikey ${IN_NAMESPACE} ${name} ${ANNOTATION.rotateRequestedAt}="$(date +%s)"`;
    return ready('True', 'Issued', message);
  },
  revoked: () => ready('True', 'Revoked', `The key is revoked, as specified. ${ANOTHER}`),
  expired: (expiresAt: string) => ready('True', 'Expired', `The key expired at ${expiresAt}, as specified.`),
  secretConflict: (secret: string) => {
    const message = `Secret ${secret} already exists and was not created for this APIKey, so Nameplate does not change it. Inspect it (kubectl describe secret ${IN_NAMESPACE} ${secret}) and delete it; Nameplate will then continue automatically. Or create another APIKey with a different spec.secretName.`;
    return ready('False', 'SecretConflict', message);
  },
  secretNameReserved: (secret: string) => {
    const message = `Secret names like ${secret} are reserved for the certificates of hosts. Create another APIKey with a different spec.secretName.`;
    return ready('False', 'SecretConflict', message);
  },
  secretInvalid: (secret: string) => {
    const message = `The value of 'key' in Secret ${secret} is not a key that Nameplate created. Restore the key, or delete the Secret (kubectl delete secret ${IN_NAMESPACE} ${secret}). Nameplate then creates a new key.`;
    return ready('False', 'SecretInvalid', message);
  },
  keyInUse: (secret: string) => {
    const message = `Another APIKey held the key in Secret ${secret} before this one, so the key does not work here. Delete the Secret (kubectl delete secret ${IN_NAMESPACE} ${secret}). Nameplate then creates a new key.`;
    return ready('False', 'KeyInUse', message);
  },
  planLimitReached: (plan: string, limit: number) => {
    const full = limit > 0 ? ', and older ones use the whole limit. Delete one, or upgrade' : '. Upgrade';
    const message = `Plan ${plan} allows ${counted(limit, 'APIKey')} per account${full} the plan; Nameplate will then continue automatically.`;
    return ready('False', 'PlanLimitReached', message);
  },
  refused: (secret: string, message: string, works: boolean) => {
    return ready(works ? 'True' : 'False', 'Refused', explainRefusal(`Secret ${secret}`, message) + kept(works));
  },
  retrying: (secret: string, message: string) =>
    ready('False', 'Retrying', explainRetrying(`Secret ${secret}`, message)),
  paused: (secret: string, works: boolean) => {
    const message = `The namespace or the whole cluster is paused, so Nameplate writes no key to Secret ${secret}. Ask the platform team to end the pause; Nameplate will then continue automatically.`;
    return ready(works ? 'True' : 'False', 'Paused', message + kept(works));
  },
} as const;

function kept(works: boolean): string {
  return works ? ' Until then, the current key works.' : '';
}
