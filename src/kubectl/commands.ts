/** The commands of `kubectl nameplate`. Each reads what the operator has reported; `verify` also requests a check. */
import {setTimeout as delay} from 'node:timers/promises';
import {blockerOf} from '../advice/blocker.ts';
import {timestamp} from '../api/conditions.ts';
import {objectNameOf} from '../api/host-names.ts';
import {ANNOTATION} from '../api/names.ts';
import {printable} from '../operations/untrusted-text.ts';
import {DOMAIN, DOMAIN_CLAIM, type Domain, NAMESPACE, PROJECT} from '../operator/kinds/kinds.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {ApiError} from '../runtime/kube/errors.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../runtime/kube/object.ts';
import type {Names} from './complete.ts';
import {type Format, printRecords, recordsOf} from './records.ts';
import {type Holder, printTree, printWhy, type Style} from './tree.ts';

export const COMMAND_EXIT = {done: 0, waits: 1, failed: 3} as const;

export interface CommandContext {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'patch'>;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly style: Style;
  readonly isJson: boolean;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
  /** Progress, which is not part of the output. */
  readonly tell: (text: string) => void;
}

/** There is nothing to show, or not exactly one object. */
class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

async function listAll<T extends KubeObject>(
  {client, namespace, signal}: CommandContext,
  resource: ResourceType<T>,
): Promise<T[]> {
  const items: T[] = [];
  for await (const page of client.list(resource, {namespace, signal})) items.push(...page.items.map(cleaned));
  return items;
}

/** Prints each Project with its Domains. `name`: only this Project. */
export async function status(context: CommandContext, name: string | undefined): Promise<number> {
  const [allProjects, allDomains] = await Promise.all([listAll(context, PROJECT), listAll(context, DOMAIN)]);
  const projects = allProjects.filter(({metadata}) => name === undefined || metadata.name === name);
  const domains = allDomains.filter(({spec}) => name === undefined || spec.projectRef.name === name);
  if (projects.length === 0 && domains.length === 0) {
    throw new NotFoundError(
      name === undefined ? `no Projects in ${place(context)}` : `no Project ${name} in ${place(context)}`,
    );
  }
  if (context.isJson) context.print(`${JSON.stringify({projects, domains}, null, 2)}\n`);
  else context.print(printTree({projects, domains}, context.style));
  return [...projects, ...domains].some(blockerOf) ? COMMAND_EXIT.waits : COMMAND_EXIT.done;
}

/** Prints the required DNS records of one host, or of all. */
export async function records(context: CommandContext, host: string | undefined, format: Format): Promise<number> {
  const domains = host === undefined ? await listAll(context, DOMAIN) : [await findDomain(context, host)];
  const found = recordsOf(domains);
  if (found.length === 0) throw new NotFoundError('the operator has not reported any required records yet');
  context.print(printRecords(found, context.isJson ? 'json' : format));
  return COMMAND_EXIT.done;
}

/** Prints the step at which a host waits, and who holds the host. */
export async function why(context: CommandContext, host: string): Promise<number> {
  const domain = await findDomain(context, host);
  const holder = await holderOf(context, host);
  if (context.isJson) {
    const claim = typeof holder === 'object' ? {claim: holder.spec} : {};
    context.print(`${JSON.stringify({host, blocker: blockerOf(domain) ?? null, ...claim}, null, 2)}\n`);
  } else {
    context.print(printWhy(domain, holder, context.style));
  }
  return blockerOf(domain) ? COMMAND_EXIT.waits : COMMAND_EXIT.done;
}

/** Only the platform team may read claims. */
async function holderOf({client, signal}: CommandContext, host: string): Promise<Holder> {
  try {
    return cleaned(await client.get(DOMAIN_CLAIM, {name: objectNameOf(host)}, {signal})) ?? 'none';
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return 'hidden';
    throw error;
  }
}

const POLL_MS = 500;
const PROGRESS_MS = 5000;

/**
 * Requests a check of a host's DNS now, waits for its result, and explains it. Reports every five seconds that it is
 * still waiting.
 */
export async function verify(context: CommandContext, host: string): Promise<number> {
  const {client, signal, tell} = context;
  const {metadata} = await findDomain(context, host);
  const {namespace = '', name} = metadata;
  const token = timestamp(Date.now());
  const annotations = {[ANNOTATION.verifyRequestedAt]: token};
  await client.patch(DOMAIN, {namespace, name}, {metadata: {annotations}}, {signal});
  tell(`Requested a check of ${host}. Waiting for the operator.\n`);
  const start = performance.now();
  const elapsed = () => Math.round((performance.now() - start) / 1000);
  const progress = setInterval(() => tell(`Still waiting after ${elapsed()} s.\n`), PROGRESS_MS);
  try {
    await untilHandled(context, {namespace, name}, token);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(
      `the operator has not handled the request within ${elapsed()} s. The request remains: run \`kubectl nameplate why ${host}\` later, or ask the platform team whether the operator is running.`,
      {cause: error},
    );
  } finally {
    clearInterval(progress);
  }
  return await why(context, host);
}

async function untilHandled(
  {client, signal}: CommandContext,
  where: {readonly namespace: string; readonly name: string},
  token: string,
): Promise<void> {
  for (;;) {
    const domain = await client.get(DOMAIN, where, {signal});
    if (!domain) throw new NotFoundError(`the Domain ${where.name} was deleted`);
    if (domain.status?.lastHandledVerifyRequest === token) return;
    await delay(POLL_MS, undefined, {signal});
  }
}

export async function findDomain(context: CommandContext, host: string): Promise<DeepReadonly<Domain>> {
  const {client, namespace, signal} = context;
  const found =
    namespace === undefined
      ? (await listAll(context, DOMAIN)).filter(({metadata}) => metadata.name === objectNameOf(host))
      : [cleaned(await client.get(DOMAIN, {namespace, name: objectNameOf(host)}, {signal}))];
  const [domain, ...others] = found;
  if (!domain)
    throw new NotFoundError(`no Domain ${host} in ${place(context)}. List the host in spec.domains of a Project.`);
  if (others.length > 0) {
    const namespaces = found.map(each => each?.metadata.namespace).join(', ');
    throw new NotFoundError(`Domains named ${host} exist in ${namespaces}. Choose one with --namespace.`);
  }
  return domain;
}

/** For completion. */
export function namesIn(context: CommandContext): Names {
  const names = async <T extends KubeObject>(resource: ResourceType<T>, where: CommandContext) =>
    (await listAll(where, resource)).map(({metadata}) => metadata.name ?? '');
  return {
    namespaces: () => names(NAMESPACE, {...context, namespace: undefined}),
    projects: () => names(PROJECT, context),
    hosts: () => names(DOMAIN, context),
  };
}

/** Tenants and strangers' DNS servers choose much of what is printed. */
function cleaned<T>(object: T): T {
  if (object === undefined) return object;
  const text = (_: string, value: unknown) => (typeof value === 'string' ? printable(value) : value);
  return JSON.parse(JSON.stringify(object), text) as T;
}

function place({namespace}: CommandContext): string {
  return namespace === undefined ? 'any namespace' : `the namespace ${namespace}`;
}
