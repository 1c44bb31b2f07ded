/** Prints what is needed to diagnose a failure later. */
import {run} from '../cluster/children.ts';
import {RELEASE} from '../support/install.ts';
import {print} from './terminal.ts';

const COMMANDS = [
  'kubectl get projects,domains,domainclaims --all-namespaces -o wide',
  'kubectl describe domains --all-namespaces',
  'kubectl get certificates,certificaterequests,orders,challenges,ingresses --all-namespaces',
  'kubectl describe challenges --all-namespaces',
  `kubectl -n ${RELEASE.namespace} get pods -o wide`,
  `kubectl -n ${RELEASE.namespace} logs -l app.kubernetes.io/component=operator --all-containers --prefix --tail=80`,
  'kubectl -n cert-manager logs deployment/cert-manager --tail=30',
];

export async function diagnose(): Promise<void> {
  for (const command of COMMANDS) {
    const answer = await run(command.split(' ')).catch((error: Error) => error.message);
    print(`---- ${command}\n${answer}`);
  }
}
