/** Proof by DNS, read from the verdicts that the scheduler keeps; never waits on DNS. */
import {timestamp} from '../../api/conditions.ts';
import type {DomainStatus} from '../../api/generated/domain.ts';
import {formLabel, isApex} from '../../dns/names.ts';
import type {Operator} from '../context.ts';
import {DnsVerified, type DomainCondition} from './conditions.ts';
import {before, type Subject} from './subject.ts';

export interface Proof {
  readonly condition: DomainCondition;
  /** The last check of DNS holds the proof: new things may start. */
  readonly proved: boolean;
  /** When the condition changes by itself, if nothing else happens. */
  readonly wakeAtMs?: number;
}

export type RequiredRecord = NonNullable<NonNullable<DomainStatus['dns']>['required']>[number];

/** The brief's TTL, in seconds. */
const RECORD_TTL = 3600;

/** The records to create. An apex cannot have a CNAME; a name that shows only addresses is proved by TXT as well. */
export function requiredRecords({host, question, check}: Subject): RequiredRecord[] {
  const record = (type: string, name: string, value: string): RequiredRecord => ({
    type,
    name,
    label: formLabel(name),
    value,
    ttl: RECORD_TTL,
  });
  const apex = isApex(host);
  const records = [record(apex ? 'ALIAS' : 'CNAME', host, question.target)];
  if ((apex || check?.verdict.addressesOnly) && question.apexProof === 'txt') {
    records.push(record('TXT', question.txtName, question.txtValue));
  }
  return records;
}

/** Watches DNS for what may start or is held, and judges the last check. */
export function verifyDns(operator: Operator, subject: Subject, accepted: boolean): Proof {
  const {scheduler} = operator;
  const {key, holder, domain, account, question, published, verifyRequest} = subject;
  if (!accepted && holder !== 'us' && !published) {
    scheduler.unwatch(key);
    return {condition: DnsVerified.waiting('what Accepted says'), proved: false};
  }
  scheduler.watch(key, {
    account: account.id,
    uid: domain.metadata.uid ?? key,
    question,
    urgency: published && subject.check?.verdict.verified ? 'steady' : 'pending',
  });
  if (verifyRequest && account.plan.customDomains) scheduler.request(key, verifyRequest);
  const {check} = subject;
  const held = holder === 'us' || (published !== undefined && holder !== 'another');
  if (!check) return {condition: unchecked(subject, held), proved: false};
  if (check.verdict.verified) return {condition: DnsVerified.yes(check.verdict.message), proved: true};
  if (!held) return {condition: DnsVerified.no(check.verdict.reason, check.verdict.message), proved: false};
  return {proved: false, ...judgeHeld(operator, subject)};
}

function unchecked(subject: Subject, held: boolean): DomainCondition {
  const last = before(subject, 'DNSVerified');
  if (last && last.status !== 'Unknown') return {...last, type: 'DNSVerified'};
  return held ? DnsVerified.held(subject.host) : DnsVerified.checking(subject.host);
}

/** A "no" for a host that we hold: what is served drifts only after a configured time of agreement; silence moves nothing. */
function judgeHeld({config}: Operator, subject: Subject): Pick<Proof, 'condition' | 'wakeAtMs'> {
  const {check, published, host, nowMs} = subject;
  if (!check) return {condition: DnsVerified.held(host)};
  const {verdict, agreedSince} = check;
  const last = before(subject, 'DNSVerified');
  if (!published) {
    const keep = !verdict.agreed && last?.status === 'True';
    return {condition: keep ? {...last, type: 'DNSVerified'} : DnsVerified.no(verdict.reason, verdict.message)};
  }
  const driftsAtMs = agreedSince === undefined ? undefined : agreedSince + config.dns.driftAfterSeconds * 1000;
  if (verdict.agreed && agreedSince !== undefined && driftsAtMs !== undefined && driftsAtMs <= nowMs) {
    return {condition: DnsVerified.drifted(timestamp(agreedSince), verdict.message)};
  }
  const condition =
    last && last.status !== 'Unknown' ? {...last, type: 'DNSVerified' as const} : DnsVerified.held(host);
  return {condition, ...(driftsAtMs !== undefined && {wakeAtMs: driftsAtMs})};
}
