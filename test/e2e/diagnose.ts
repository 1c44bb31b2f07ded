/** After a failure, prints what is needed to diagnose it later. Run inside the cluster. */
import {run} from '../cluster/children.ts';
import {RELEASE} from '../support/install.ts';

const OPERATOR = `-n ${RELEASE.namespace} -l app.kubernetes.io/name=${RELEASE.name}`;
const COMMANDS = [
  'kubectl get domains --all-namespaces -o wide',
  'kubectl get projects,domainclaims,keyclaims --all-namespaces',
  'kubectl get certificates,certificaterequests,orders,challenges,ingresses --all-namespaces',
  'kubectl get pods --all-namespaces -o wide',
  'kubectl get events --all-namespaces --field-selector=type=Warning --sort-by=.lastTimestamp',
  `kubectl logs ${OPERATOR} --prefix --tail=200`,
];

for (const command of COMMANDS) {
  const answer = await run(command.split(' ')).catch((error: Error) => error.message);
  console.log(`---- ${command}\n${answer}`);
}
