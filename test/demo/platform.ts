/**
 * The platform team installs Nameplate; a tenant publishes a project and meets the two conditions for custom domains.
 */

import {shellWord} from '../../src/operations/untrusted-text.ts';
import type {Edge} from '../cluster/programs.ts';
import {DELEGATED, RELEASE, valuesFor} from '../support/install.ts';
import {
  allowListeners,
  apply,
  cnameTarget,
  dns,
  message,
  requiredRecords,
  waitForCondition,
  waitForDomain,
  waitForReason,
} from './commands.ts';
import {projectManifest, shop} from './manifests.ts';
import type {Terminal} from './terminal.ts';

export async function install(terminal: Terminal, edge: Edge): Promise<void> {
  terminal.heading('Install by Helm');
  const {name, namespace, chart} = RELEASE;
  const values = valuesFor(edge);
  terminal.say(`${values[0]} sets zones and the issuer; and, for the demo, a DNS check every 1 to 3 s.`);
  await terminal.type(
    [
      `kubectl create namespace ${namespace}`,
      `kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=restricted`,
      ...allowListeners(namespace, edge),
    ],
    {shows: 'Pod Security rejects every pod that is not restricted'},
  );
  await terminal.type(
    `helm install ${name} ${chart} --namespace ${namespace} ${values.map(file => `--values ${file}`).join(' ')} --wait`,
    {
      shows: 'installed, its pods are ready',
      matching: [/STATUS: deployed/],
      lines: 7,
    },
  );
  const columns = 'NAME:.metadata.name,PHASE:.status.phase,ACCOUNT:.spec.serviceAccountName';
  await terminal.type(`kubectl -n ${namespace} get pods -o custom-columns=${columns}`, {
    shows: 'the operator, and the programs that answer the challenges of CAs, each under its own service account',
    matching: [/(nameplate-\S+ +Running +nameplate(-challenges|-nameserver)?\s*){6}$/],
  });
  await terminal.type(`kubectl ${DELEGATED.map(shellWord).join(' ')}`, {
    shows: 'the name server gets the address to which acme.nameplate.test is delegated, as from a load balancer',
  });
  const caBundle = "$(kubectl get clusterissuer pebble -o jsonpath='{.spec.acme.caBundle}')";
  const issuer = `{"apiVersion":"nameplate.dev/v1alpha1","kind":"ACMEIssuer","metadata":{"name":"pebble"},"spec":{"server":"https://172.30.0.56:14000/dir","caaIdentities":["pebble.test"],"caBundle":"'"${caBundle}"'"}}`;
  await terminal.type(`echo '${issuer}' | kubectl apply -f -`, {shows: 'the CA, with one account for the platform'});
  await terminal.type('kubectl wait acmeissuer/pebble --for=condition=Ready --timeout=60s', {
    shows: 'the account exists',
  });
}

export async function defaultHost(terminal: Terminal, edge: Edge): Promise<void> {
  terminal.heading('A project is live at its default host, on any plan');
  await terminal.type(
    [
      'kubectl create namespace acme',
      'kubectl label namespace acme nameplate.dev/account=acme',
      ...allowListeners('acme', edge),
    ],
    {shows: 'a tenant'},
  );
  await terminal.type(
    [
      'kubectl -n acme create deployment shop --image=localhost/nameplate/web:test --port=8080',
      'kubectl -n acme expose deployment shop --port=80 --target-port=8080',
      'kubectl -n acme rollout status deployment/shop --timeout=60s',
    ],
    {shows: 'its web server runs'},
  );
  await terminal.type(apply(shop()), {
    shows: 'a project: only the Service that serves it',
    matching: [/shop created/],
  });
  await terminal.type('kubectl -n acme wait project/shop --for=condition=Ready --timeout=60s', {shows: 'published'});
  const {text} = await terminal.type("kubectl -n acme get project shop -o jsonpath='{.status.url}'", {
    shows: 'under the base domain',
    matching: [/^https:\/\/shop-acme-[a-z2-7]+\.apps\.nameplate\.test\/$/],
  });
  await terminal.type(`curl -sS ${text}hello`, {
    shows: 'HTTPS, with the edge’s own certificate',
    matching: [/path=\/hello pod=shop-/],
  });
}

export async function freePlan(terminal: Terminal): Promise<void> {
  terminal.heading('The free plan has no custom domains');
  await terminal.type(apply(shop('primary: shop.example.com')), {shows: 'the project lists a domain'});
  await terminal.type(
    [waitForDomain('acme', 'shop.example.com'), waitForReason('acme', 'shop.example.com', 'PlanRequired')],
    {shows: 'PlanRequired'},
  );
  await terminal.type(message('acme', 'shop.example.com'), {
    shows: 'the tenant sees which plan is required',
    matching: [/require a plan that allows them \(pro\).*on plan free/],
  });
  await terminal.type('kubectl label namespace acme nameplate.dev/plan=pro', {shows: 'the platform sells an upgrade'});
  await terminal.type(waitForCondition('acme', 'shop.example.com', 'Accepted'), {
    shows: 'and the domain continues automatically',
  });
}

/**
 * Leaves blog.example.com about to become live, as the neighbor of all that follows. Returns the account's CNAME
 * target.
 */
export async function notDeployed(terminal: Terminal): Promise<string> {
  terminal.heading('Not deployed yet');
  await terminal.type('kubectl -n acme create service clusterip blog --tcp=80:8080', {
    shows: 'a second project has a Service, but no pods',
  });
  await terminal.type(apply(projectManifest('acme', 'blog', ['primary: blog.example.com'])), {
    shows: 'and lists a domain',
  });
  await terminal.type(
    [waitForDomain('acme', 'blog.example.com'), waitForReason('acme', 'blog.example.com', 'NoSuccessfulDeploy')],
    {shows: 'NoSuccessfulDeploy'},
  );
  await terminal.type(message('acme', 'blog.example.com'), {
    shows: 'the tenant sees what is missing',
    matching: [/Service blog has never had a ready endpoint/],
  });
  await terminal.type('kubectl -n acme create deployment blog --image=localhost/nameplate/web:test --port=8080', {
    shows: 'deployed',
  });
  await terminal.type(waitForCondition('acme', 'blog.example.com', 'Accepted'), {
    shows: 'and the domain continues automatically',
  });
  const {text} = await terminal.type(requiredRecords('acme', 'blog.example.com'), {
    shows: 'the record to create',
    matching: [/^CNAME {2}blog {2}\S+\.edge\.nameplate\.test {2}TTL 3600$/],
  });
  const target = cnameTarget(text);
  await terminal.type(dns('set', 'blog.example.com', 'CNAME', target), {
    shows: 'created; from here on, this host must stay live whatever happens to others',
  });
  return target;
}
