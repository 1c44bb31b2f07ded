/** An APIKey: its key is created in a Secret, recorded for the messages API, and shown to people in the status. */
import {findCondition} from '../../api/conditions.ts';
import type {APIKeyStatus} from '../../api/generated/apikey.ts';
import {API_KEY, type APIKey, endOf} from '../../apikey/apikey.ts';
import {applyStatusIfChanged} from '../../runtime/apply/apply.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {heldBack, isPausedNamespace} from '../caches/paused.ts';
import {INDEX} from '../caches/stores.ts';
import {type Account, accountOf} from '../kinds/account.ts';
import {earliest, outcomeOf} from '../kinds/steps.ts';
import {claimKeys} from './claim.ts';
import {KeyReady} from './conditions.ts';
import type {ApiKeyOperator} from './context.ts';
import {type Issue, issueKey} from './issue.ts';
import {KeySecrets} from './read-secret.ts';
import {apiKeyStatus} from './status.ts';
import {sweepLeftovers, sweepSecrets} from './sweep.ts';

/** Keys are "namespace/name", of existing APIKeys and of deleted ones that left a Secret behind. */
export function reconcileApiKey(operator: ApiKeyOperator): Reconcile {
  const {stores, clock, keyWaiters} = operator;
  const known = new Map<string, Known>();
  const keySecrets = new KeySecrets();
  return async (key, {client, signal, keepsFailing}) => {
    // While its kind is not installed, an APIKey or a record that is missing from the cache is not gone.
    if (stores.apiKeys.state !== 'synced' || stores.keyClaims.state !== 'synced') return after(1000);
    const nowMs = clock.now();
    const apiKey = stores.apiKeys.get(key);
    const secrets = stores.secrets.byIndex(INDEX.apiKey, key);
    if (!apiKey || apiKey.metadata.deletionTimestamp) {
      const outcome = await sweepSecrets(secrets, {wasSeen: known.has(key), nowMs, client, signal});
      known.delete(key);
      keySecrets.forget(key);
      keyWaiters.leave(key);
      return outcome;
    }
    const namespace = stores.namespaces.get(apiKey.metadata.namespace ?? '');
    if (!namespace || namespace.metadata.deletionTimestamp) return done(); // its deletion also deletes the APIKey

    const ended = endOf(apiKey, nowMs) !== undefined;
    const {uid: knownUid, conflicts = 0} = known.get(key) ?? {};
    await sweepLeftovers(secrets, apiKey, {knownUid, client, signal});
    const isPaused = isPausedNamespace(operator, namespace.metadata.name);
    const {client: building} = heldBack({...operator, client, signal}, isPaused);
    const account = accountOf(namespace, operator.config);
    const context = {apiKey, knownUid, ended, conflicts, keySecrets, nowMs, keepsFailing, client, building, signal};
    const issue = operator.places.apiKeys.has(apiKey) ? await issueKey(context) : beyondPlan(account);
    known.set(key, {uid: apiKey.metadata.uid, conflicts: hasConflict(issue) ? conflicts + 1 : 0});
    const {key: issued} = issue;
    if (issued) keyWaiters.wait(key, issued.sha256);
    const held = await claimKeys({apiKey, account: account.id, stores, keySecrets, nowMs, client, signal}, issued);
    if (!issued || held.has(issued.sha256)) keyWaiters.leave(key);
    const status = apiKeyStatus(apiKey, {account: account.id, issue, held, nowMs});
    const {changed} = await applyStatusIfChanged(client, API_KEY, apiKey, status, {signal});
    if (changed) announce(operator, apiKey, status);
    return outcomeOf([issue.obstacle ?? {}, {wakeAtMs: changesAtMs(apiKey, issue, nowMs)}], nowMs);
  };
}

/** Of an APIKey that this process has seen, until its Secret is gone too. */
interface Known {
  readonly uid: string | undefined;
  /** As in `IssueContext`. */
  readonly conflicts: number;
}

function beyondPlan({plan, planName}: Account): Issue {
  return {obstacle: {condition: KeyReady.planLimitReached(planName, plan.maxApiKeys)}};
}

function hasConflict({obstacle}: Issue): boolean {
  return obstacle?.condition.reason === 'SecretConflict';
}

/** An Event for each change that a person would want to see in `kubectl describe`. No Event contains the key. */
function announce({events}: ApiKeyOperator, apiKey: DeepReadonly<APIKey>, status: APIKeyStatus): void {
  const before = apiKey.status;
  const reason = (of: DeepReadonly<APIKeyStatus> | undefined, type: string) =>
    findCondition(of?.conditions, type)?.reason;
  const sameReasons = ['Active', 'Ready'].every(type => reason(status, type) === reason(before, type));
  if (sameReasons && before?.prefix === status.prefix) return;
  const ready = findCondition(status.conditions, 'Ready');
  if (!ready) return;
  const made = ready.reason === 'Issued' && before?.prefix !== status.prefix;
  const note = made ? `Secret ${status.secretName} holds the key ${status.prefix}….` : ready.message;
  const isGood = ready.status === 'True' && ready.reason !== 'Refused';
  events.event(apiKey, isGood ? 'Normal' : 'Warning', ready.reason, 'Reconcile', note);
}

/** When the status must change even if nothing else does: the key expires, or the overlap ends. */
function changesAtMs({spec}: DeepReadonly<APIKey>, {key}: Issue, nowMs: number): number | undefined {
  const times = [
    ...(spec.expiresAt === undefined || spec.revoked ? [] : [Date.parse(spec.expiresAt)]),
    ...(key?.previous ? [Date.parse(key.previous.validUntil)] : []),
  ];
  return earliest(...times.filter(time => time > nowMs));
}
