/**
 * The messages for tenants: what was found at which server, and what to do, with the exact record. Untrusted text is
 * escaped and truncated, here (quote.ts, `escapeText`) or earlier.
 */
import {formLabel, isWildcard} from '../names/hosts.ts';
import {escapeText, parentOf} from '../names/wire-names.ts';
import {addressesIn, type ChainEnd, cnamesIn, onlyAnswered} from '../resolve/cname-chain.ts';
import type {SilentServer} from '../resolve/directory.ts';
import type {ServerAnswer, ServerRecords} from '../resolve/query-all.ts';
import {addressType} from '../wire/codec.ts';
import type {Case, Classification} from './classify.ts';
import {type HostEvidence, targetsIn, textsIn} from './evidence.ts';
import {formatRecord, formatValue, listed, listServers, listSilent, quoteName} from './quote.ts';
import type {ProofQuestion, Verdict} from './verdict.ts';

/** The context of the texts about a record to create. */
interface Wanted {
  readonly question: ProofQuestion;
  readonly evidence: Pick<HostEvidence, 'ownZone'>;
}

/** The record to create, and what to enter in a provider's form. */
function wantedCname({question: {host, target}, evidence: {ownZone}}: Wanted): string {
  return `${host}. CNAME ${target}. (in a form: type CNAME, name "${formLabel(host, ownZone)}", value "${target}")`;
}

function wantedAlias({host, target, apexAddresses = []}: ProofQuestion): string {
  const alias = `an ALIAS record (at some providers ANAME, or a flattened CNAME) of ${host} with the value ${target}`;
  if (apexAddresses.length === 0) return alias;
  const records = apexAddresses.map(address => `${host}. ${addressType(address)} ${address}`);
  return `${alias} (or, if your provider has none, ${records.join(' and ')})`;
}

function wantedTxt({question: {txtName, txtValue}, evidence: {ownZone}}: Wanted): string {
  const label = formLabel(txtName, ownZone);
  return `${txtName}. TXT "${txtValue}" (in a form: type TXT, name "${label}", value "${txtValue}")`;
}

/** The records to create. An apex cannot have a CNAME. */
function wanted(given: Case): string {
  const {question, evidence} = given;
  if (!evidence.apex) return wantedCname(given);
  const alias = wantedAlias(question);
  return question.apexProof === 'txt' ? `${alias}, and the record ${wantedTxt(given)}` : alias;
}

const WAIT = 'No action needed; Nameplate will check again.';

export function verified({question, classifications, silent}: Case, proof: NonNullable<Verdict['proof']>): string {
  const {host, target, txtName, challenge} = question;
  const servers = listServers(classifications.map(({answer}) => answer));
  const found = {
    cname: `${host} points to ${target} at ${servers}`,
    'address-txt': `${host} has the addresses of ${target}, and ${txtName} has the TXT record, at ${servers}`,
    address: `${host} has the addresses of ${target} at ${servers}`,
    challenge: `${host} ${isWildcard(host) ? 'points to' : 'has the addresses of'} ${target}, and ${challenge?.name} is delegated to ${challenge?.target}, at ${servers}`,
  };
  const passed = silent.length > 0 ? ` No answer from ${listSilent(silent)}.` : '';
  return `${found[proof]}.${passed}`;
}

/** The obstacle to agreement about a verified host, and who can remove it. */
export function doubt(zone: string, silent: readonly SilentServer[]): string {
  const servers = listSilent(silent);
  if (zone === '.')
    return `not every resolver of the platform confirms that (${servers}). Ask the platform team to check these resolvers.`;
  return (
    `not every name server on the way confirms that (${servers}). Ask your DNS provider to fix this server, or remove it ` +
    `from the name servers of ${quoteName(zone)}, at your provider and at your registrar.`
  );
}

/** The same, if no authoritative server can be reached. */
export function noAuthority(): string {
  return "the platform cannot reach the zone's own name servers, and a resolver's answer may be old. Ask the platform team to allow egress to port 53, over IPv4 and IPv6.";
}

/** Some servers were not queried, and those that were give no reason to change anything. */
export function unfinished({question, classifications, silent}: Case): string {
  const open = silent.filter(({noAnswer}) => noAnswer === 'budget');
  const names = listServers(open.map(({serverName}) => ({server: serverName})));
  const found = classifications.length === 0 ? '' : `What was found about ${question.host} so far is right. `;
  const left =
    open.length === 0 ? `Not everything about ${question.host} was queried yet` : `Not queried yet: ${names}`;
  return `${found}${left}, because one check sends a limited number of queries in a limited time. No action needed; Nameplate will continue in a few seconds.`;
}

export function unfinishedOnTheWay(host: string, zone: string): string {
  return `The name servers of ${zone === '.' ? 'the root' : quoteName(zone)} were not queried about ${host}, because one check sends a limited number of queries in a limited time. No action needed; Nameplate will continue in a few seconds.`;
}

export function missing(given: Case): string {
  const {question, classifications} = given;
  const servers = listServers(classifications.map(({answer}) => answer));
  return `There is no record for ${question.host} at ${servers}. ${doubledNote(given)}Create ${wanted(given)}.`;
}

/** A form takes a name as relative to the zone, so a full name becomes one that ends in the zone twice. */
function doubledNote({evidence: {hints, ownZone}, question: {host}}: Case): string {
  return hints?.doubled === undefined ? '' : noteOnDoubled(hints.doubled, formLabel(host, ownZone));
}

function noteOnDoubled(doubled: string, label: string): string {
  return `But there is one for ${quoteName(doubled)}: your provider appended the zone to the name, so enter only "${label}" as the name, and delete that record. `;
}

/** The host has no record of its own: it shows what every name has that does not exist. */
export function fromWildcard(given: Case, answer: ServerRecords, wildcard: string): string {
  const {host} = given.question;
  return (
    `${quoteName(answer.server)} returns ${listed(answer.records.map(formatRecord))}, which comes from the wildcard ` +
    `${quoteName(wildcard)}: ${host} has no record of its own, or the same one (then delete that one first). ` +
    `${doubledNote(given)}Create ${wanted(given)}. The wildcard can stay.`
  );
}

export function notDelegated({question, evidence}: Case): string {
  const servers = evidence.zone === '.' ? 'the root servers' : `the name servers of ${evidence.zone}`;
  return (
    `${question.host} does not exist: ${servers} do not know this domain. ` +
    `Check the spelling, register the domain, or set its name servers at your registrar.`
  );
}

export function mismatch(given: Case, {answer, cname, end}: Extract<Classification, {kind: 'elsewhere'}>): string {
  const {question} = given;
  const hint = given.evidence.apex ? '' : missingDotHint(cname, question);
  return (
    `${quoteName(answer.server)} returns ${question.host}. CNAME ${quoteName(cname)}.${describeEnd(end)}. ` +
    `${hint}Change it to ${wanted(given)}.`
  );
}

function describeEnd(end: ChainEnd): string {
  switch (end.kind) {
    case 'nothing':
      return `, which points to ${quoteName(end.at)}, but that name has no address`;
    case 'other-target':
      return `, which leads to ${quoteName(end.at)}, and that is not the target of this account`;
    case 'loop':
      return ', which is part of a CNAME loop';
    case 'too-long':
      return ', which starts a CNAME chain that is too long to follow';
    default:
      return ', which points elsewhere';
  }
}

/** The most common mistake: a form treats a value without a final dot as relative to the zone. */
function missingDotHint(cname: string, {host, target}: ProofQuestion): string {
  const relative = cname.startsWith(`${target}.`) && parentOf(host).endsWith(cname.slice(target.length + 1));
  return relative ? 'Your provider appended your own domain to the value: end the value with a dot. ' : '';
}

export function mismatchAtApex(given: Case, {answer, foreign}: Extract<Classification, {kind: 'foreign'}>): string {
  const {question, evidence} = given;
  const nowhere =
    evidence.targetAddresses?.known && evidence.targetAddresses.addresses.size === 0
      ? ` (The target itself has no address: inform the platform team.)`
      : '';
  return (
    `${quoteName(answer.server)} returns ${listed(foreign.map(formatRecord))}, but ${question.target} resolves to different addresses.${nowhere} ` +
    `Delete the returned records and create ${wanted(given)}.`
  );
}

export function conflict(given: Case, classification: Classification): string {
  const {question} = given;
  const {answer} = classification;
  const at = quoteName(answer.server);
  switch (classification.kind) {
    case 'many-cnames': {
      const values = cnamesIn(answer.records).map(quoteName);
      return `${at} returns several CNAME records for ${question.host}: ${listed(values)}. A name may have only one. Keep or create ${wantedCname(given)}, and delete the others.`;
    }
    case 'mixed':
      return (
        `${at} returns ${listed(foreignOf(classification))} next to the addresses of ${question.target}, so some visitors do not reach this platform. ` +
        `Delete ${deletion(classification)}.`
      );
    case 'beside': {
      const right = cnamesIn(answer.records).includes(question.target);
      const then = right ? ' and keep the CNAME record' : `, then change the CNAME record to ${wantedCname(given)}`;
      return `${at} returns ${listed(foreignOf(classification))} next to a CNAME record. Delete ${deletion(classification)}${then}.`;
    }
    default:
      return (
        `${at} returns ${listed(foreignOf(classification))}, but this name may have only the CNAME record. ` +
        `Delete ${deletion(classification)}, then create ${wanted(given)}. ` +
        `If your provider proxies or flattens this name, turn that off ("DNS only").`
      );
  }
}

function foreignOf(classification: Classification): string[] {
  return 'foreign' in classification ? classification.foreign.map(formatRecord) : [];
}

function deletion(classification: Classification): string {
  const records = 'foreign' in classification ? classification.foreign : [];
  return listed(records.map(record => `the ${record.type} record ${formatValue(record)} of ${quoteName(record.name)}`));
}

export function propagating(given: Case, right: readonly Classification[], wrong: readonly Classification[]): string {
  const answers = wrong.map(({answer}) => answer);
  return (
    `The correct record is at ${listServers(right.map(({answer}) => answer))}, but not yet everywhere: the answer from ` +
    `${listServers(answers)} is still ${describeAnswers(answers)}. ` +
    `${WAIT} If this lasts for hours, tell your DNS provider that its name servers disagree about ${given.question.host}.`
  );
}

function describeAnswers(answers: readonly ServerRecords[]): string {
  const records = answers.flatMap(answer => answer.records.map(formatRecord));
  return records.length > 0 ? listed(records) : 'no record';
}

export function unsettled(given: Case, {answer, cname, at}: Extract<Classification, {kind: 'unsettled'}>): string {
  const {question} = given;
  return (
    `${quoteName(answer.server)} returns ${question.host}. CNAME ${quoteName(cname)}., but the name servers of ` +
    `${quoteName(at)} disagree about where that points. ${WAIT} If you do not want to wait, change it to ${wantedCname(given)}.`
  );
}

export function unknown(given: Case, {answer, detail}: Extract<Classification, {kind: 'unknown'}>): string {
  const found = `${quoteName(answer.server)} returns ${listed(answer.records.map(formatRecord))}`;
  const change =
    cnamesIn(answer.records).length > 0 ? ` If you do not want to wait, change it to ${wantedCname(given)}.` : '';
  return `${found}, but ${escapeText(detail, 300)}. ${WAIT}${change}`;
}

export function proofMissing(given: Case): string {
  const {question, evidence} = given;
  if (isWildcard(question.host)) return challengeMissing(given);
  const answers = evidence.txt?.answers ?? [];
  const replace = evidence.apex ? '' : `; or replace the addresses with ${wantedCname(given)}`;
  return (
    `${question.host} has the addresses of ${question.target}, which shows where it points, but not that it is yours. ` +
    `The TXT record that proves ownership is missing: ${foundAtProof(given, answers)} ` +
    `Create ${wantedTxt(given)}${replace}.${otherwise(given)}`
  );
}

/** The proof that also works in place of the TXT record. */
function otherwise(given: Case): string {
  return given.question.challenge ? ` Or delegate the ACME challenge instead: create ${wantedChallenge(given)}.` : '';
}

function wantedChallenge({question: {challenge}, evidence: {ownZone}}: Wanted): string {
  const {name = '', target = ''} = challenge ?? {};
  return `${name}. CNAME ${target}. (in a form: type CNAME, name "${formLabel(name, ownZone)}", value "${target}")`;
}

/** Of a wildcard. */
function challengeMissing(given: Case): string {
  const {host, target, challenge} = given.question;
  const found = (given.evidence.challenge?.answers ?? []).flatMap(targetsIn).map(name => `${quoteName(name)}.`);
  return (
    `${host} points to ${target}, but only the delegated ACME challenge proves a wildcard: ${challenge?.name} has ` +
    `${found.length > 0 ? `the CNAME ${listed(found)}` : 'no CNAME record.'} Create ${wantedChallenge(given)}.`
  );
}

function foundAtProof({question: {txtName}, evidence}: Case, answers: readonly ServerAnswer[]): string {
  const {wildcard, doubled} = evidence.txt?.hints ?? {};
  const aliases = onlyAnswered(answers).flatMap(({records}) => records.filter(({type}) => type === 'CNAME'));
  const note = doubled === undefined ? '' : ` ${noteOnDoubled(doubled, formLabel(txtName, evidence.ownZone)).trim()}`;
  if (aliases.length > 0) {
    const found = `${txtName} has ${listed(aliases.map(formatRecord))} at ${listServers(answers)}`;
    const next =
      wildcard === undefined ? ' in its place. Delete it.' : `, which comes from the wildcard ${quoteName(wildcard)}.`;
    return `${found}${next}${note}`;
  }
  const values = answers.flatMap(textsIn).map(text => `"${escapeText(text, 80)}"`);
  return `${txtName} has ${values.length > 0 ? `only ${listed(values)}` : 'nothing'} at ${listServers(answers)}.${note}`;
}

export function proofFromWildcard(given: Case): string {
  return (
    `The TXT value of ${given.question.txtName} comes from a wildcard record, which proves nothing about this one name. ` +
    `Create ${wantedTxt(given)}.`
  );
}

export function challengeFromWildcard(given: Case): string {
  return (
    `The CNAME of ${given.question.challenge?.name} comes from a wildcard record, which proves nothing about this one ` +
    `name. Create it as a record of its own${isWildcard(given.question.host) ? '' : `, or create ${wantedTxt(given)}`}.`
  );
}

export function challengePropagating(
  {question}: Case,
  having: readonly ServerAnswer[],
  lacking: readonly ServerAnswer[],
): string {
  return (
    `The CNAME record of ${question.challenge?.name} is at ${listServers(having)}, but not yet at ` +
    `${listServers(lacking)}. ${WAIT} If this lasts for hours, tell your DNS provider that its name servers disagree.`
  );
}

export function challengeUnreachable({question}: Case): string {
  return `${question.challenge?.name} has the CNAME record, but no name server answered whether it comes from a wildcard. ${WAIT}`;
}

export function proofPropagating(
  {question}: Case,
  having: readonly ServerAnswer[],
  lacking: readonly ServerAnswer[],
): string {
  return (
    `The TXT record of ${question.txtName} is at ${listServers(having)}, but not yet at ${listServers(lacking)}. ` +
    `${WAIT} If this lasts for hours, tell your DNS provider that its name servers disagree.`
  );
}

export function txtUnreachable({question, evidence}: Case): string {
  const silent = (evidence.txt?.answers ?? []).filter(answer => !answer.ok);
  const servers = silent.length === 0 ? '' : ` (${listSilent(silent)})`;
  return `${question.host} has the addresses of ${question.target}, but no name server answered the query for ${question.txtName}${servers}. ${WAIT} If this lasts, ask your DNS provider about these servers.`;
}

export function unreachable(zone: string, silent: readonly SilentServer[]): string {
  if (zone === '.') {
    return `No resolver of the platform answered (${listSilent(silent)}). ${WAIT} If this lasts, ask the platform team to check these resolvers.`;
  }
  if (silent.every(({noAnswer}) => noAnswer === 'no-route')) {
    return `No name server of ${quoteName(zone)} can be queried (${listSilent(silent)}). ${WAIT} Platform team: set config.dns.mode to auto or recursive.`;
  }
  return `No name server of ${quoteName(zone)} answered (${listSilent(silent)}). ${WAIT} If this lasts, ask your DNS provider about these servers.`;
}

export function delegationBroken(zone: string, silent: readonly SilentServer[]): string {
  return (
    `${quoteName(zone)} is delegated to name servers that do not serve it (${listSilent(silent)}). ` +
    `Create the zone ${quoteName(zone)} at that provider, or set the correct name servers at your registrar.`
  );
}

export function noEgress(host: string): string {
  return (
    `${host} could not be checked: no name server answers the platform, not even the root servers. ` +
    `${WAIT} Platform team: allow egress to port 53, or set config.dns.mode to recursive.`
  );
}

export function bogus({question, silent}: Case): string {
  return (
    `DNSSEC validation of ${question.host} fails at ${listServers(silent)}, so certificate authorities and many visitors ` +
    `cannot resolve it. Fix the DS record at your registrar, or the signatures at your DNS provider.`
  );
}

/** The zone has the record, but one of the platform's resolvers does not have it yet. */
export function cachedElsewhere(question: ProofQuestion, answers: readonly ServerRecords[], seconds?: number): string {
  const wait = seconds === undefined ? '' : `, for about ${seconds} s more`;
  const addresses = answers.flatMap(answer => addressesIn(answer.records));
  const old = addresses.length > 0 ? `the old answer ${listed(addresses)}` : 'the old answer';
  return `The name servers of ${question.host} have the correct record, but the resolver ${listServers(answers)} still has ${old}${wait}. ${WAIT}`;
}
