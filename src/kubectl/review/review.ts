/**
 * Lists what exists and will not last once the policies are enforced. Audit mode shows only what somebody writes, and
 * the dry run of the approval what is requested; neither shows what was written before, nor which certificates
 * cert-manager can then no longer renew.
 */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {judgedIssuer, slimClusterIssuer} from '../../operator/caches/slim.ts';
import type {OperatorConfig} from '../../operator/config/config.ts';
import {routeName, routeNameIn} from '../../operator/kinds/derived-names.ts';
import {isRenewalRefused, issuerOf, orderedNames} from '../../operator/kinds/issuers.ts';
import {CERTIFICATE, CLUSTER_ISSUER, ISSUER, type Issuer} from '../../operator/kinds/kinds.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {checkedKinds, findConfig, findPolicies, listAll} from './cluster.ts';
import {type DryRun, dryRun} from './dry-run.ts';
import {lendRights, removeRights} from './rights.ts';

export interface Review {
  /** How many objects were sent again. */
  readonly objects: number;
  readonly refused: readonly {readonly object: string; readonly refusals: readonly string[]}[];
  readonly unchecked: readonly {readonly object: string; readonly why: string}[];
  readonly notRenewable: readonly NotRenewable[];
}

export interface NotRenewable {
  /** "namespace/name" */
  readonly certificate: string;
  readonly hosts: readonly string[];
  readonly issuer: string;
  /** Absent if it was never issued. */
  readonly notAfter?: string;
}

type Context = Pick<DryRun, 'call' | 'clock' | 'signal'> & {readonly client: KubeClient};

/** Equals the client's number of connections. */
const CONCURRENCY = 8;

/** The platform's namespaces are left out: only the platform writes there. */
export async function review(context: Context): Promise<Review> {
  const {client, signal} = context;
  const config = await findConfig(client, signal);
  return {...(await checkObjects(context, config)), notRenewable: await listNotRenewable(context, config)};
}

async function checkObjects({client, ...context}: Context, config: OperatorConfig) {
  const policies = await findPolicies(client, context.signal);
  const kinds = await checkedKinds(policies, context.call);
  const refused: Review['refused'][number][] = [];
  const unchecked: Review['unchecked'][number][] = [];
  let count = 0;
  try {
    const user = await lendRights(client, kinds, context.signal);
    const run = {...context, user, policies: new Set(policies.map(({metadata}) => metadata.name))};
    for (const resource of kinds) {
      const objects = (await listAll(client, resource, context)).filter(object => isOfTenant(object, config));
      count += objects.length;
      const next = objects.values();
      const work = async () => {
        for (const each of next) {
          const verdict = await dryRun(run, resource, each);
          const object = `${keyOf(each)} ${resource.kind}`;
          if ('unchecked' in verdict) unchecked.push({object, why: verdict.unchecked});
          else if (verdict.refusals.length > 0) refused.push({object, refusals: verdict.refusals});
        }
      };
      await Promise.all(Array.from({length: CONCURRENCY}, work));
    }
  } finally {
    await removeRights(client);
  }
  const byName = (a: {object: string}, b: {object: string}) => (a.object < b.object ? -1 : 1);
  return {objects: count, refused: refused.sort(byName), unchecked: unchecked.sort(byName)};
}

/** A tenant could set the operator's label, so the name must match the host too. */
function isOfTenant({metadata}: DeepReadonly<KubeObject>, {certificates}: OperatorConfig): boolean {
  const {namespace = '', name, labels, annotations, deletionTimestamp} = metadata;
  const isNamedForHost = routeNameIn(name) === routeName(namespace, annotations?.[ANNOTATION.host] ?? '');
  const isOfOperator = labels?.[LABEL.managedBy] === 'nameplate' && isNamedForHost;
  const isExempt = certificates.approval.exemptNamespaces.includes(namespace);
  return !isOfOperator && !isExempt && deletionTimestamp === undefined;
}

/** The operator's own are included: a ClusterIssuer of the configuration may speak ACME. The next to expire is first. */
async function listNotRenewable({client, signal}: Context, config: OperatorConfig): Promise<NotRenewable[]> {
  const [issuers, clusterIssuers] = [new Map<string, Issuer>(), new Map<string, Issuer>()];
  for (const each of await listAll(client, ISSUER, {signal})) issuers.set(keyOf(each), judgedIssuer(each, config));
  for (const each of await listAll(client, CLUSTER_ISSUER, {signal}))
    clusterIssuers.set(keyOf(each), slimClusterIssuer(each, config));
  const certificates = await listAll(client, CERTIFICATE, {signal});
  return certificates
    .filter(certificate => isRenewalRefused(config, {issuers, clusterIssuers}, certificate))
    .sort((a, b) => ((a.status?.notAfter ?? '') < (b.status?.notAfter ?? '') ? -1 : 1))
    .map(certificate => {
      const {kind, name} = issuerOf(certificate.spec.issuerRef);
      const {notAfter} = certificate.status ?? {};
      const what = {certificate: keyOf(certificate), hosts: orderedNames(certificate.spec), issuer: `${kind} ${name}`};
      return {...what, ...(notAfter !== undefined && {notAfter})};
    });
}
