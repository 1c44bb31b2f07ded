/** `kubectl nameplate status` and `why`: what waits, and who must do something, from what the operator has reported. */
import {type InspectColor, styleText} from 'node:util';
import {type Condition, findCondition} from '../api/conditions.ts';
import type {Domain, DomainClaim, Project} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';

type State = NonNullable<NonNullable<Domain['status']>['state']>;
export type Style = (color: InspectColor, text: string) => string;

const COLORS: Readonly<Record<State, InspectColor>> = {
  Blocked: 'red',
  Unverified: 'yellow',
  Verified: 'yellow',
  Live: 'green',
  Degraded: 'magenta',
};
/** The parts of a Domain from a person's view, each with the condition that shows its progress. */
const PARTS: Readonly<Record<string, string>> = {
  dns: 'DNSVerified',
  claim: 'Claimed',
  certificate: 'CertificateReady',
  route: 'Routed',
  probe: 'Probed',
};
const MARKS = {True: '✓', False: '✗', Unknown: '·'} as const;
/** They only summarize the others. */
const SUMMARIES = new Set(['Ready', 'Reconciling', 'Stalled', 'DomainsReady']);

/** Plain if the output is not a terminal, or if NO_COLOR is set, unless FORCE_COLOR is set. */
export const colored: Style = (color, text) => styleText(color, text, {stream: process.stdout, validateStream: true});

/**
 * The waiting step or, of several, the one whose reason the operator shows as the reason of Ready. If the whole is
 * Ready, an Unknown step does not matter.
 */
export function blockerOf({status}: DeepReadonly<Domain | Project>): DeepReadonly<Condition> | undefined {
  const conditions: readonly DeepReadonly<Condition>[] = status?.conditions ?? [];
  const ready = findCondition(conditions, 'Ready');
  const isReady = ready?.status === 'True';
  const steps = conditions.filter(({type}) => !SUMMARIES.has(type));
  const waiting = steps.filter(({status: done}) => done === 'False' || (done === 'Unknown' && !isReady));
  return waiting.find(({reason}) => reason === ready?.reason) ?? waiting[0];
}

interface Overview {
  readonly projects: readonly DeepReadonly<Project>[];
  readonly domains: readonly DeepReadonly<Domain>[];
}

/** A Project, its Domains, and their steps. Waiting ones come first. */
export function printTree({projects, domains}: Overview, style: Style): string {
  const of = (project: DeepReadonly<Project>) =>
    domains.filter(
      ({metadata, spec}) =>
        metadata.namespace === project.metadata.namespace && spec.projectRef.name === project.metadata.name,
    );
  const listed = new Set(projects.flatMap(of));
  const rest = domains.filter(domain => !listed.has(domain));
  const waits = (project: DeepReadonly<Project>) => [project, ...of(project)].some(blockerOf);
  const blocks = waitingFirst(projects, waits).map(project => projectBlock(project, of(project), style));
  if (rest.length > 0) blocks.push(['Domains without their Project', ...branches(rest, style)]);
  return blocks.map(lines => `${lines.join('\n')}\n`).join('\n');
}

function projectBlock(
  project: DeepReadonly<Project>,
  domains: readonly DeepReadonly<Domain>[],
  style: Style,
): readonly string[] {
  const {metadata, status} = project;
  const blocker = blockerOf(project);
  return [
    `Project ${metadata.namespace}/${metadata.name}  ${status?.url ?? style('yellow', 'not published yet')}`,
    ...(blocker ? [`  ${stepLine(blocker, style)}`] : []),
    ...branches(domains, style),
  ];
}

function branches(domains: readonly DeepReadonly<Domain>[], style: Style): string[] {
  const byHost = [...domains].sort((a, b) => (a.spec.host < b.spec.host ? -1 : 1));
  const sorted = waitingFirst(byHost, domain => blockerOf(domain) !== undefined);
  return sorted.flatMap((domain, index) => {
    const isLast = index === sorted.length - 1;
    const [head = '', ...steps] = domainLines(domain, style);
    return [`${isLast ? '└─' : '├─'} ${head}`, ...steps.map(step => `${isLast ? '  ' : '│ '} ${step}`)];
  });
}

/** Moves waiting items to the front; otherwise keeps their order. */
function waitingFirst<T>(items: readonly T[], waits: (item: T) => boolean): readonly T[] {
  return [...items.filter(waits), ...items.filter(item => !waits(item))];
}

function domainLines(domain: DeepReadonly<Domain>, style: Style): readonly string[] {
  const {spec, status} = domain;
  const state = status?.state;
  const redirect = spec.redirect ? ` → ${spec.redirect.to}` : '';
  const head = `${spec.host}${redirect}  ${state ? style(COLORS[state], state) : style('yellow', 'not seen yet')}`;
  const blocker = blockerOf(domain);
  return [head, ...(blocker ? [stepLine(blocker, style)] : []), ...partLines(domain, blocker, style)];
}

/** One line per part. The blocking one was explained above. */
function partLines(
  {status}: DeepReadonly<Domain>,
  blocker: DeepReadonly<Condition> | undefined,
  style: Style,
): readonly string[] {
  const parts = Object.entries(PARTS).flatMap(([part, type]) => {
    const condition = findCondition(status?.conditions ?? [], type);
    return condition ? [{part, condition}] : [];
  });
  return parts.map(({part, condition}, index) => {
    const branch = index === parts.length - 1 ? '└─' : '├─';
    const says = condition === blocker ? condition.reason : condition.message;
    const line = `${branch} ${MARKS[condition.status]} ${part}: ${says}`;
    return condition.status === 'False' ? line : style('dim', line);
  });
}

function stepLine({type, reason, message}: DeepReadonly<Condition>, style: Style): string {
  return `${style('bold', `${type}: ${reason}.`)} ${message}`;
}

/** The part of the claim that `why` knows. A tenant may not read claims, because they name other accounts. */
export type Holder = DeepReadonly<DomainClaim> | 'none' | 'hidden';

/** Which step waits, what to do, and who holds the host. */
export function printWhy(domain: DeepReadonly<Domain>, holder: Holder, style: Style): string {
  const {metadata, spec, status} = domain;
  const blocker = blockerOf(domain);
  const lines = [
    `${spec.host} (${metadata.namespace}, Project ${spec.projectRef.name}) is ${status?.state ?? 'not seen by the operator yet'}.`,
    blocker ? `Waiting at step ${stepLine(blocker, style)}` : 'Nothing is pending.',
    ...(blocker ? [`  In this state since ${blocker.lastTransitionTime}.`] : []),
    ...holderLines(holder, metadata.namespace),
  ];
  return `${lines.join('\n')}\n`;
}

function holderLines(holder: Holder, namespace: string | undefined): readonly string[] {
  if (holder === 'hidden') return [];
  if (holder === 'none') return ['Nobody holds the host.'];
  const {spec} = holder;
  if (spec.releasedAt !== undefined)
    return [`Nobody holds the host: ${spec.namespace} released it at ${spec.releasedAt}.`];
  const whose = spec.namespace === namespace ? 'This namespace' : `The namespace ${spec.namespace}`;
  return [`${whose} holds the host, for account ${spec.account}.`];
}
