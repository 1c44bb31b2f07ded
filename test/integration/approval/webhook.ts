/** cert-manager's own webhook, which refuses decisions on some requests. */
import {join} from 'node:path';
import type {ApiServer} from '../../cluster/apiserver.ts';
import {type Child, failOnExit, run, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';

/** Starts it next to the API server, registered as in cert-manager's chart. */
export async function startWebhook(api: ApiServer, folder: string): Promise<Child> {
  const programs = await ensurePrograms([HELM, 'certmanager']);
  const [port, healthPort] = await freePorts(2);
  const [certificate, key, log] = ['pem', 'key', 'log'].map(suffix => join(folder, `webhook.${suffix}`)) as Three;
  const subject = ['-subj', '/CN=webhook', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key];
  await run(['openssl', 'req', '-x509', ...keyOptions, ...subject, '-out', certificate]);
  const argv = [
    programs.path('cert-manager-webhook'),
    `--kubeconfig=${api.kubeconfig}`,
    `--secure-port=${port}`,
    `--healthz-port=${healthPort}`,
    '--metrics-listen-address=0',
    `--tls-cert-file=${certificate}`,
    `--tls-private-key-file=${key}`,
  ];
  const child = startChild('cert-manager-webhook', argv, {log});
  const answers = async () => (await fetch(`http://127.0.0.1:${healthPort}/healthz`)).ok;
  const ready = until('the webhook is ready', answers);
  await Promise.race([ready, failOnExit(child, log)]);
  const caBundle = (await run(['openssl', 'base64', '-A', '-in', certificate])).trim();
  for (const kind of ['mutating', 'validating']) await configure(api, kind, port ?? 0, caBundle);
  return child;
}

/** The first webhook records who requested a certificate; the second decides accordingly. */
async function configure(api: ApiServer, kind: string, port: number, caBundle: string): Promise<void> {
  const programs = await ensurePrograms([HELM, 'certmanager']);
  const render = [programs.path('helm'), 'template', 'cert-manager', programs.asset('cert-manager-chart')];
  const values = ['--set', `webhook.url.host=127.0.0.1:${port}`];
  await api.apply(await run([...render, ...values, '--show-only', `templates/webhook-${kind}-webhook.yaml`]));
  const patch = JSON.stringify([{op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: caBundle}]);
  await api.kubectl('patch', `${kind}webhookconfiguration`, '--type=json', '-p', patch, 'cert-manager-webhook');
}

type Three = [string, string, string];
