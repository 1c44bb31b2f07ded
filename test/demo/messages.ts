/** The messages API: installation, a key, a message from accepted to processed, and the end of the key. */
import {ADDRESSES} from '../cluster/state.ts';
import {MESSAGES_HOST, RELEASE} from '../support/install.ts';
import {apply, dns} from './commands.ts';
import {apiKey} from './manifests.ts';
import type {Terminal} from './terminal.ts';

const URL = `https://${MESSAGES_HOST}/messages`;
const CURL = 'curl -sS -H "Authorization: Bearer $KEY"';
const JSON_BODY = "-H 'Content-Type: application/json'";

export async function installMessages(terminal: Terminal): Promise<void> {
  terminal.heading('The messages API');
  const {name, namespace, chart} = RELEASE;
  await terminal.type(dns('set', MESSAGES_HOST, 'A', ADDRESSES.ingress), {shows: 'the platform’s DNS'});
  const certificate = 'messages.certificate.issuerRef.name=selfca';
  const settings = `--set messages.enabled=true --set messages.host=${MESSAGES_HOST} --set ${certificate}`;
  await terminal.type(`helm upgrade ${name} ${chart} --namespace ${namespace} --reuse-values ${settings} --wait`, {
    shows: 'installed alongside the operator: one pod with a volume',
    matching: [/STATUS: deployed/],
    lines: 7,
  });
  await terminal.type(
    `kubectl -n ${namespace} wait certificate/${name}-messages-tls --for=condition=Ready --timeout=120s`,
    {shows: 'its own certificate'},
  );
}

export async function messageProcessed(terminal: Terminal): Promise<void> {
  terminal.heading('A key, and a message from accepted to processed');
  await terminal.type(apply(apiKey('acme', 'shop')), {shows: 'the tenant requests a key'});
  await terminal.type('kubectl -n acme wait apikey/shop --for=condition=Ready --timeout=30s', {shows: 'created'});
  await terminal.type('kubectl -n acme get apikey shop', {
    shows: 'what the APIKey shows of it',
    matching: [/shop +npk_\w+ +True +Active/],
  });
  // Each command runs in a new shell, and the key must not be printed.
  const key = "KEY=$(kubectl -n acme get secret shop-apikey -o jsonpath='{.data.key}' | base64 -d)";
  await terminal.type([key, 'printf %.12s "$KEY"'], {
    shows: 'the key is in a Secret of the tenant, and begins like this',
    matching: [/^npk_/],
  });

  const body = `'{"message": "Order 4711 was paid"}'`;
  const posted = await terminal.type([key, `until ${CURL} -f ${JSON_BODY} -d ${body} ${URL} 2>/dev/null; do :; done`], {
    shows: 'accepted: the message is on disk',
    matching: [/"message":"Order 4711 was paid","status":"queued"/],
  });
  const {id} = JSON.parse(posted.text) as {id: string};
  await terminal.type([key, `${CURL} ${URL}/${id}`], {shows: 'read back', matching: [/"status":"queued"/]});
  await terminal.type(
    `kubectl -n ${RELEASE.namespace} delete pod ${RELEASE.name}-messages-0 --grace-period=0 --force`,
    {
      shows: 'the pod is killed',
    },
  );
  const claim = `${CURL} -f -X POST ${JSON_BODY} -d '{"leaseSeconds": 60}' ${URL}/claim`;
  const claimed = await terminal.type([key, `until ${claim} 2>/dev/null; do sleep 0.2; done`], {
    shows: 'a worker takes it once the pod is back: nothing was lost',
    matching: [new RegExp(`"id":"${id}"`)],
  });
  const lease = /"lease":"([^"]+)"/.exec(claimed.text)?.[1] ?? '';
  await terminal.type([key, `${CURL} -X POST ${JSON_BODY} -d '{"lease": "${lease}"}' ${URL}/${id}/ack`], {
    shows: 'processed',
    matching: [/"status":"done"/],
  });

  const end = `${CURL} -o /dev/null -w '%{http_code}\\n' ${URL}/${id}`;
  await terminal.type(
    [
      key,
      `kubectl -n acme patch apikey shop --type merge -p '{"spec":{"revoked":true}}'`,
      `until ${end} | grep 401; do :; done`,
    ],
    {shows: 'the key is revoked, and refused from then on', matching: [/^401$/m]},
  );
}
