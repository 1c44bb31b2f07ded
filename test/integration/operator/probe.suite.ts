/** Probes of live hosts on an edge that answers correctly. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {DOMAIN} from '../../../src/operator/kinds/kinds.ts';
import {keyOf} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import type {OperatorWorld} from './operator-world.ts';
import {startTlsEdge} from './tls-edge.ts';

/** Restarts the operator, so it disturbs all. */
export function probeSuite(world: () => OperatorWorld): void {
  test('probes of hosts that answer write nothing', async () => {
    const {history, audit} = world();
    const live = history.list(DOMAIN).filter(({status}) => status?.state === 'Live');
    const edge = await startTlsEdge(world());
    try {
      await world().operator().stop();
      const probes = {addresses: [edge.address], steadySeconds: 1, perSecond: 1000, failAfterSeconds: 3600};
      const operator = await world().startOperator('probing', {probes});
      const probedOf = (key: string) => findCondition(history.get(DOMAIN, key)?.status?.conditions, 'Probed');
      const unanswered = () => live.filter(domain => probedOf(keyOf(domain))?.reason !== 'Answering');
      const allAnswer = () => {
        const waiting = unanswered().map(domain => `${domain.spec.host}: ${probedOf(keyOf(domain))?.message}`);
        if (waiting.length > 0) throw new Error(waiting.join('\n'));
        return true;
      };
      await until('each live host answers', allAnswer);

      const keys = new Set(live.map(keyOf)); // a late DNS answer about another host is written
      const writes = async () =>
        (await audit.writes()).filter(
          ({objectRef: {resource, namespace, name} = {}}) => resource === 'domains' && keys.has(`${namespace}/${name}`),
        );
      const before = (await writes()).length;
      const counts = live.map(({spec: {host}}) => ({host, enough: edge.visits(host) + 3}));
      const count = await operator.metric('nameplate_probes_total', {reason: 'Answering'});
      const allProbed = () => {
        const missing = counts.flatMap(({host, enough}) =>
          edge.visits(host) < enough ? [`${host}: ${edge.visits(host)} of ${enough}`] : [],
        );
        if (missing.length > 0) throw new Error(missing.join('\n'));
        return true;
      };
      await until('each was probed three times more', allProbed);
      const probed = (await operator.metric('nameplate_probes_total', {reason: 'Answering'})) - count;
      expect(probed).toBeGreaterThanOrEqual(2 * live.length); // an answer is counted a moment after the visit
      expect(live.length).toBeGreaterThan(10);
      expect((await writes()).slice(before).map(({verb, objectRef}) => `${verb} ${objectRef?.name}`)).toEqual([]);
    } finally {
      await edge.stop();
    }
  });
}
