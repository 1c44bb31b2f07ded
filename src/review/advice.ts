/** Advice for the platform team about a finding: the chart value that allows the object, or that there is none. */
import type {Decision} from '../operator/approval/decide.ts';
import {requestedServices} from '../operator/model/certificate-request.ts';
import {issuerOf} from '../operator/model/issuer-ref.ts';
import {serversOf} from '../operator/model/issuer-rules.ts';
import type {CertificateRequest, Issuer} from '../operator/model/kinds.ts';
import type {DeepReadonly, KubeObject} from '../runtime/kube/object.ts';
import type {Reason} from './finding.ts';
import {inlineYaml} from './inline-yaml.ts';
import type {Rule} from './policies.ts';
import type {PolicyRefusal} from './resend.ts';

type Advice = Pick<Reason, 'values' | 'advice'>;

const CERTIFICATES = 'config.certificates';
const SERVERS = `${CERTIFICATES}.tenantIssuers.servers`;
const EXEMPT = `${CERTIFICATES}.approval.exemptNamespaces`;
const TENANT_HOSTS = `${CERTIFICATES}.approval.tenantCertificates.hosts`;
const TENANT_SERVICES = `${CERTIFICATES}.approval.tenantCertificates.services`;
const TRUSTED = 'admission.trusted';
const GATEWAY_CLASSES = 'admission.tenantGatewayClasses';
export const OTHER_GROUPS = 'admission.issuance.otherIssuerGroups';

const none = (advice: string): Advice => ({values: [], advice});
const trusted = (otherwise: string): Advice => ({
  values: [TRUSTED],
  advice: `If a program of the platform writes it, list that program in ${TRUSTED}. ${otherwise}`,
});

const POLICIES: Readonly<Record<Rule, Advice>> = {
  routes: trusted('For a tenant, no chart value allows this: list the hosts in a Project.'),
  issuers: none(
    "No chart value allows this. Change the Issuer, or list the hosts in a Project, which uses the platform's issuer.",
  ),
  certificates: {
    values: [TENANT_HOSTS, TENANT_SERVICES, OTHER_GROUPS],
    advice: `If teams create their own Certificates from this issuer, list it in ${TENANT_HOSTS} or ${TENANT_SERVICES}. If another approver decides on its requests, list its group in ${OTHER_GROUPS}. Otherwise, list the hosts in a Project, which gets the certificates. No chart value allows larger keys than RSA 4096.`,
  },
  'solver-objects': {
    values: [EXEMPT],
    advice: `If only the platform writes in this namespace, list the namespace in ${EXEMPT}. Otherwise, no chart value allows this: remove the label.`,
  },
  'next-private-keys': none('No chart value allows this. Remove the label.'),
  'edge-addresses': {
    values: [TRUSTED, 'admission.statusWriters'],
    advice: `If a load balancer of the platform writes it, list the load balancer in admission.statusWriters. List another program of the platform in ${TRUSTED}. For a tenant, no chart value allows this: remove the address.`,
  },
  'dns-names': trusted('For a tenant, no chart value allows this: remove the host.'),
  'managed-objects': none(
    'No chart value allows this. Choose another name, because names that start with np- are reserved.',
  ),
  challenges: {
    values: [EXEMPT],
    advice: `If only the platform writes in this namespace, list the namespace in ${EXEMPT}. Otherwise, no chart value allows this: list the host in a Project, which gets the certificate.`,
  },
};

export function policyReason(
  {rule, message}: PolicyRefusal,
  object: DeepReadonly<KubeObject>,
  edgeClass?: string,
): Reason {
  return {rule, message, ...(specialAdvice(rule, message, object, edgeClass) ?? POLICIES[rule])};
}

function specialAdvice(
  rule: Rule,
  message: string,
  object: DeepReadonly<KubeObject>,
  edgeClass: string | undefined,
): Advice | undefined {
  if (rule === 'issuers' && message.includes('does not list the server')) {
    // Not from the message, in which a server may look like several.
    const servers = serversOf((object as DeepReadonly<Issuer>).spec ?? {});
    return serverAdvice(servers.filter(server => message.includes(server)));
  }
  if (rule === 'issuers' && message.includes('how its server is verified')) {
    const advice = `For a private CA of a listed server, set the server's caBundle in ${SERVERS}. No chart value allows skipTLSVerify or caBundleSecretRef.`;
    return {values: [SERVERS], advice};
  }
  if (rule === 'routes' && message.includes(GATEWAY_CLASSES)) {
    const advice = `If the class of the Gateway gives each Gateway its own proxies, list it in ${GATEWAY_CLASSES}. No chart value allows addresses or infrastructure.`;
    return {values: [GATEWAY_CLASSES, TRUSTED], advice: `${advice} ${POLICIES.routes.advice}`};
  }
  const [, ingressClass = ''] = /Ingresses of class ([^.\s]+)\./.exec(message) ?? [];
  const isFurther = ingressClass !== '' && !['traefik', edgeClass].includes(ingressClass.toLowerCase());
  if (rule !== 'routes' || object.kind !== 'Ingress' || edgeClass === undefined || !isFurther) return undefined;
  return {
    values: ['admission.edgeClasses', TRUSTED],
    advice: `If an ingress controller other than the edge serves class ${inlineYaml(ingressClass)}, remove the class from admission.edgeClasses. ${POLICIES.routes.advice}`,
  };
}

function serverAdvice(servers: readonly string[]): Advice {
  const list = servers.map(url => inlineYaml({url}));
  return {values: [SERVERS], advice: `If you trust this server, list it in ${SERVERS}: ${list.join(', ')}.`};
}

export function approvalReason(
  {reason, message}: Decision,
  request: DeepReadonly<CertificateRequest>,
  issuerProblem: string | undefined,
): Reason {
  return {rule: `approval/${reason}`, message, ...approvalAdvice(reason, request, issuerProblem)};
}

function approvalAdvice(
  reason: Decision['reason'],
  request: DeepReadonly<CertificateRequest>,
  issuerProblem: string | undefined,
): Advice {
  const {namespace = ''} = request.metadata;
  const issuer = inline(request);
  if (reason === 'IssuerNotAllowed') return issuerAdvice(issuerProblem);
  if (reason === 'IssuerNotListed') {
    const advice = `If config.certificates.issuerRef named this issuer before, list it in ${CERTIFICATES}.formerIssuerRefs: ${issuer}. Otherwise Nameplate replaces it, which costs one order.`;
    return {values: [`${CERTIFICATES}.formerIssuerRefs`], advice};
  }
  if (reason === 'NotManaged')
    return {values: [TENANT_HOSTS], advice: `List its issuer in ${TENANT_HOSTS}: ${issuer}.`};
  if (requestedServices(request, namespace)) {
    const advice = `All names are Services of its namespace. List its issuer in ${TENANT_SERVICES}: ${issuer}.`;
    return {values: [TENANT_SERVICES], advice};
  }
  const platform = `If only the platform writes in namespace ${namespace}, list the namespace in ${EXEMPT}.`;
  return {values: [EXEMPT], advice: `${platform} For a tenant, no chart value allows this: ${tenantAdvice(reason)}`};
}

function tenantAdvice(reason: Decision['reason']): string {
  switch (reason) {
    case 'SubjectNotAllowed':
      return 'remove everything but the common name from the subject.';
    case 'HostNotHeld':
      return 'list the host in a Project in the namespace. Nameplate then requests the certificate.';
    default:
      return 'list the hosts in a Project, or use one Certificate for each host that the namespace holds.';
  }
}

/** `problem`: the text of `issuerProblem`; undefined if the Issuer does not exist. */
export function issuerAdvice(problem: string | undefined): Advice {
  const [, server] = /does not list: \S+ is (.+)$/s.exec(problem ?? '') ?? [];
  if (server !== undefined) return serverAdvice([server]);
  if (problem === undefined) return none('No chart value allows this. Create the Issuer, or delete the Certificate.');
  if (problem.includes('caBundle') && !problem.includes('caBundleSecretRef'))
    return {values: [SERVERS], advice: `Set the server's caBundle in ${SERVERS}.`};
  return POLICIES.issuers;
}

/** As written in the chart values. */
function inline({spec}: DeepReadonly<CertificateRequest>): string {
  const {name, kind, group} = issuerOf(spec.issuerRef);
  return inlineYaml({name, kind, group});
}
