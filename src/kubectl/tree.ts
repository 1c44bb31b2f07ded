/** `kubectl nameplate status` and `why`: what waits, and who must do something, from what the operator has reported. */
import {type InspectColor, styleText} from 'node:util';
import {blockerOf, sortedDomains, waitingFirst} from '../advice/blocker.ts';
import {adviseHost, type HostState, type ProgressPart} from '../advice/host.ts';
import type {Condition} from '../api/conditions.ts';
import type {Domain, DomainClaim, Project} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';

export type Style = (color: InspectColor, text: string) => string;

const COLORS: Readonly<Record<HostState, InspectColor>> = {
  Blocked: 'red',
  Unverified: 'yellow',
  Verified: 'yellow',
  Live: 'green',
  Degraded: 'magenta',
};
const MARKS = {True: '✓', False: '✗', Unknown: '·'} as const;
/** Plain if the output is not a terminal, or if NO_COLOR is set, unless FORCE_COLOR is set. */
export const colored: Style = (color, text) => styleText(color, text, {stream: process.stdout, validateStream: true});

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
  const sorted = sortedDomains(domains);
  return sorted.flatMap((domain, index) => {
    const isLast = index === sorted.length - 1;
    const [head = '', ...steps] = domainLines(domain, style);
    return [`${isLast ? '└─' : '├─'} ${head}`, ...steps.map(step => `${isLast ? '  ' : '│ '} ${step}`)];
  });
}

function domainLines(domain: DeepReadonly<Domain>, style: Style): readonly string[] {
  const {host, redirectTo, state, next, parts} = adviseHost(domain);
  const redirect = redirectTo === undefined ? '' : ` → ${redirectTo}`;
  const head = `${host}${redirect}  ${state ? style(COLORS[state], state) : style('yellow', 'not seen yet')}`;
  return [head, ...(next ? [stepLine(next.condition, style)] : []), ...partLines(parts, next?.condition, style)];
}

/** One line per part. The blocking one was explained above. */
function partLines(
  parts: readonly ProgressPart[],
  blocker: DeepReadonly<Condition> | undefined,
  style: Style,
): readonly string[] {
  return parts.map(({name, condition}, index) => {
    const branch = index === parts.length - 1 ? '└─' : '├─';
    const says = condition === blocker ? condition.reason : condition.message;
    const line = `${branch} ${MARKS[condition.status]} ${name}: ${says}`;
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
