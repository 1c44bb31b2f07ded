/**
 * What the owner of a domain sees of it: its state in one word, what to do next, the records to create beside those that
 * were found, and how far it is. Pure; `kubectl nameplate` and the console show the same.
 */
import {type Condition, findCondition} from '../api/conditions.ts';
import type {Domain} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';
import {blockerOf} from './blocker.ts';
import {type Provider, providerOf} from './providers.ts';
import {type Actor, actorOf} from './reasons.ts';
import {adviseRecords, type RecordSetAdvice} from './records.ts';

export type HostState = NonNullable<NonNullable<Domain['status']>['state']>;

export interface NextStep {
  readonly actor: Actor;
  readonly condition: DeepReadonly<Condition>;
}

export interface ProgressPart {
  readonly name: string;
  readonly condition: DeepReadonly<Condition>;
}

export interface HostAdvice extends RecordSetAdvice {
  readonly host: string;
  readonly redirectTo: string | undefined;
  /** Undefined until the operator has seen the Domain. */
  readonly state: HostState | undefined;
  /** Undefined: nothing is waiting. */
  readonly next: NextStep | undefined;
  readonly parts: readonly ProgressPart[];
  /** Undefined: unknown, or not in the table. */
  readonly provider: Provider | undefined;
  readonly isVerified: boolean;
  /** A check was requested, and its result is not known yet. */
  readonly isChecking: boolean;
  /** RFC 3339. */
  readonly nextAttemptAt: string | undefined;
  readonly expiresAt: string | undefined;
  readonly renewsAt: string | undefined;
}

/** The parts of a Domain from a person's view, each with the condition that shows its progress. */
const PARTS: Readonly<Record<string, string>> = {
  dns: 'DNSVerified',
  claim: 'Claimed',
  certificate: 'CertificateReady',
  route: 'Routed',
  probe: 'Probed',
};

/** `requested`: the value of the annotation that requests a check, if the Domain has it. */
export function adviseHost(domain: DeepReadonly<Domain>, requested?: string): HostAdvice {
  const {spec, status} = domain;
  const conditions = status?.conditions ?? [];
  const condition = blockerOf(domain);
  const isVerified = findCondition(conditions, 'DNSVerified')?.status === 'True';
  const provider = providerOf(nameServersOf(domain));
  const {nextAttemptAt, notAfter, renewalTime} = status?.certificate ?? {};
  return {
    host: spec.host,
    redirectTo: spec.redirect?.to,
    state: status?.state,
    next: condition && {actor: actorOf(condition.reason), condition},
    parts: partsOf(domain),
    provider,
    isVerified,
    isChecking: requested !== undefined && requested !== status?.lastHandledVerifyRequest,
    ...adviseRecords(domain, provider, isVerified),
    nextAttemptAt,
    expiresAt: notAfter,
    renewsAt: renewalTime,
  };
}

function partsOf({status}: DeepReadonly<Domain>): readonly ProgressPart[] {
  return Object.entries(PARTS).flatMap(([name, type]) => {
    const condition = findCondition(status?.conditions, type);
    return condition ? [{name, condition}] : [];
  });
}

/** The evidence names the servers that were queried, each with its address: "ns1.provider.net (20.1.0.1)". */
function nameServersOf({status}: DeepReadonly<Domain>): readonly string[] {
  const message = findCondition(status?.conditions, 'DNSVerified')?.message ?? '';
  const texts = [message, ...(status?.dns?.observed ?? []).map(({server}) => server)];
  return texts.flatMap(text =>
    [...text.matchAll(/([\w-]+(?:\.[\w-]+)+)\.? \([\da-f.:]+\)/gi)].map(([, name = '']) => name),
  );
}
