/** Explanations of a wrong answer: nothing here changes whether a host is verified. */
import type {Clock} from '../../time/clock.ts';
import {canonicalName, isWithin, parentOf} from '../names/wire-names.ts';
import type {Authority} from '../resolve/authority.ts';
import {addressesIn, cnamesIn, onlyAnswered} from '../resolve/cname-chain.ts';
import type {ServerAnswer} from '../resolve/query-all.ts';
import {queryAny} from '../resolve/query-any.ts';
import type {VerdictSession} from '../resolve/session.ts';
import type {QueryType, ResourceRecord} from '../wire/codec.ts';

export interface Hints {
  /** The wildcard whose records the host shows, such as `*.example.com`: the host has no record of its own. */
  readonly wildcard?: string;
  /** The name at which the right record is, because a provider appended the zone to a full name. */
  readonly doubled?: string;
}

interface HintDependencies {
  readonly clock: Clock;
  /** A label that no zone has. */
  readonly randomLabel: () => string;
}

/** A hint is looked for only if this many queries are left: the first server may not answer. */
const COST = 2;
/** A wildcard further up is not named, but the one below which the host is. */
const MAX_LEVELS = 3;

/** If there are no queries left, the next check explains. */
function peek(
  authority: Authority,
  name: string,
  type: QueryType,
  session: VerdictSession,
  {clock}: HintDependencies,
): Promise<readonly ResourceRecord[]> {
  if (canonicalName(name) === undefined) return Promise.resolve([]);
  if (session.remaining < COST) {
    session.markUnfinished();
    return Promise.resolve([]);
  }
  return queryAny(authority, name, type, session, clock).then(reply => reply?.message.answers ?? []);
}

/** The wildcard that answers for the name in place of a record of its own, by the answer for a name that nobody has. */
export async function findWildcard(
  authority: Authority,
  name: string,
  answers: readonly ServerAnswer[],
  session: VerdictSession,
  deps: HintDependencies,
): Promise<string | undefined> {
  const shown = onlyAnswered(answers).map(({records}) => records);
  const type = shown.flat().some(record => record.type === 'AAAA') && !shown.flat().some(isAOrAlias) ? 'AAAA' : 'A';
  const values = new Set(shown.map(records => valuesOf(records, type)).filter(value => value !== ''));
  let wildcard: string | undefined;
  let parent = parentOf(name);
  for (let level = 0; level < MAX_LEVELS && values.size > 0 && isOfZone(parent, authority); level++) {
    const sibling = `${deps.randomLabel()}.${parent}`;
    const found = await peek(authority, sibling, type, session, deps);
    if (
      !values.has(
        valuesOf(
          found.filter(record => record.name === sibling),
          type,
        ),
      )
    )
      break;
    wildcard = `*.${parent}`;
    parent = parentOf(parent);
  }
  return wildcard;
}

/** Names above the zone belong to somebody else. A resolver's zone is the root, so there it ends with the levels. */
function isOfZone(name: string, {zone}: Authority): boolean {
  return name !== '.' && isWithin(name, zone);
}

function isAOrAlias({type}: ResourceRecord): boolean {
  return type === 'A' || type === 'CNAME';
}

/** The CNAME, or the addresses of one family; empty if there are none. */
function valuesOf(records: readonly ResourceRecord[], type: 'A' | 'AAAA'): string {
  const cnames = cnamesIn(records);
  if (cnames.length > 0) return `CNAME ${cnames.join(' ')}`;
  return addressesIn(records.filter(record => record.type === type))
    .sort()
    .join(' ');
}

/** The name with the zone appended, if that name has the wanted value. */
export async function findDoubled(
  authority: Authority,
  name: string,
  [type, value]: readonly ['CNAME' | 'TXT', string],
  session: VerdictSession,
  deps: HintDependencies,
): Promise<string | undefined> {
  if (authority.zone === '.') return undefined;
  const doubled = `${name}.${authority.zone}`;
  const found = await peek(authority, doubled, type === 'TXT' ? 'TXT' : 'A', session, deps);
  const has = found.some(record => {
    if (record.name !== doubled || record.type !== type) return false;
    return record.type === 'TXT' ? record.text === value : record.type === 'CNAME' && record.target === value;
  });
  return has ? doubled : undefined;
}
