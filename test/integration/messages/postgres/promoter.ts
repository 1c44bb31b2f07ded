/**
 * Failover as in CloudNativePG with a failover quorum: of N standbys, W acknowledge each COMMIT. If R of them answer
 * and R + W > N, the one of these R with the most WAL has every acknowledged message.
 */
import {until} from '../../../cluster/wait.ts';
import type {Postgres} from './server.ts';

const W = 1;
const FAST = {intervalMs: 20};

/** Promotes one standby of a lost primary, and lets the others follow it. Rejects without a quorum. */
export async function failOver(standbys: readonly Postgres[]): Promise<Postgres> {
  const answers = await Promise.allSettled(standbys.map(each => each.query('SELECT 1')));
  const reachable = standbys.filter((_, index) => answers[index]?.status === 'fulfilled');
  if (reachable.length + W <= standbys.length) {
    throw new Error(`${reachable.length} of ${standbys.length} standbys answer: no quorum`);
  }
  // First, all stop receiving. Otherwise, a primary that is merely unreachable from here could still collect
  // acknowledgments.
  const sealed = await Promise.all(reachable.map(async standby => ({standby, wal: await seal(standby)})));
  const [best, ...others] = sealed.sort((a, b) => (a.wal < b.wal ? 1 : -1));
  if (best === undefined) throw new Error('there is no standby');
  await best.standby.query('SELECT pg_promote(true, 30)');
  await Promise.all(others.map(({standby}) => standby.follow(best.standby)));
  return best.standby;
}

/**
 * Cuts the standby off from its primary. Resolves with how much WAL it has. The WAL may end within a record, which
 * cannot be replayed, if the primary was killed while writing it. Until a standby has received something since its
 * start, only its wait for more shows that it has replayed everything.
 */
async function seal(standby: Postgres): Promise<bigint> {
  await standby.follow(undefined);
  return until(
    'the standby knows how much WAL it has',
    async () => {
      const [row] = await standby.query(`
        SELECT (SELECT count(*) FROM pg_stat_wal_receiver) AS receivers,
          (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn)::text AS wal,
          pg_last_wal_receive_lsn() IS NOT NULL OR EXISTS (
            SELECT FROM pg_stat_activity
            WHERE backend_type = 'startup' AND wait_event = 'RecoveryRetrieveRetryInterval') AS known`);
      return row?.receivers === '0' && row.known === true ? BigInt(String(row.wal)) : undefined;
    },
    FAST,
  );
}
