/**
 * A Certificate that no operator has to do with. Once cert-manager has renewed it, cert-manager has also taken up all that
 * happened before: its caches and queues keep the order.
 */
import {findCondition} from '../../../src/api/conditions.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {isConflict, isNotFound} from '../../../src/runtime/kube/errors.ts';
import {until} from '../../cluster/wait.ts';
import type {OperatorWorld} from '../operator/operator-world.ts';

export const CANARY = 'canary';
const KEY = {namespace: CANARY, name: CANARY};
const apiVersion = 'cert-manager.io/v1';

export class Canary {
  readonly #world: OperatorWorld;
  #renewals = 0;

  private constructor(world: OperatorWorld) {
    this.#world = world;
  }

  static async start(world: OperatorWorld): Promise<Canary> {
    const {client, history} = world;
    const issuerRef = {name: CANARY, kind: 'ClusterIssuer'};
    await client.apply(kinds.NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name: CANARY}});
    const issuer = {apiVersion, kind: 'ClusterIssuer', metadata: {name: CANARY}, ...{spec: {selfSigned: {}}}};
    await client.apply(kinds.CLUSTER_ISSUER, issuer);
    history.subscribe(kinds.CERTIFICATE_REQUEST, ({type, object}) => {
      if (type === 'ADDED' && object.metadata.namespace === CANARY) void approve(world, object);
    });
    const privateKey = {algorithm: 'ECDSA', rotationPolicy: 'Always'};
    const spec = {dnsNames: ['first.test'], secretName: CANARY, revisionHistoryLimit: 1, privateKey, issuerRef};
    await client.apply(kinds.CERTIFICATE, {apiVersion, kind: 'Certificate', metadata: KEY, ...{spec}});
    return new Canary(world);
  }

  async renew(): Promise<void> {
    const {client, history} = this.#world;
    const spec = {dnsNames: [`renewal${++this.#renewals}.test`]};
    const {metadata} = await client.patch(kinds.CERTIFICATE, KEY, {spec});
    await until('cert-manager has renewed the canary', () => {
      const ready = findCondition(history.get(kinds.CERTIFICATE, `${CANARY}/${CANARY}`)?.status?.conditions, 'Ready');
      return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
    });
  }
}

/** Whoever is first; the operator approves, too. */
async function approve({client}: OperatorWorld, {metadata}: kinds.CertificateRequest): Promise<void> {
  const {name, uid = ''} = metadata;
  const approved = {type: 'Approved', status: 'True', reason: 'Test', message: 'the test approves'};
  const status = {conditions: [{...approved, lastTransitionTime: new Date().toISOString().replace(/\.\d+/, '')}]};
  const request = {apiVersion, kind: 'CertificateRequest', metadata: {namespace: CANARY, name, uid}, status};
  await client.applyStatus(kinds.CERTIFICATE_REQUEST, request).catch((error: unknown) => {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  });
}
