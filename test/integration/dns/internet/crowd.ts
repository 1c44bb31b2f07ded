import {pino} from 'pino';
import {Registry} from 'prom-client';
import {defaultDnsConfig} from '../../../../src/dns/config.ts';
import {createDns} from '../../../../src/dns/dns.ts';
import {systemClock} from '../../../../src/time/clock.ts';
import {until} from '../../../cluster/wait.ts';
import type {CrowdOptions, CrowdResult} from './calls.ts';

/** Lets one scheduler watch all subjects, the late ones while it is busy with the others. */
export async function joinCrowd({config, subjects, lateAfterMs, limitMs}: CrowdOptions): Promise<CrowdResult> {
  const deps = {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock};
  const {scheduler} = createDns({...defaultDnsConfig, ...config}, deps);
  const stop = new AbortController();
  const done = scheduler.start(stop.signal);
  const watch = ({account, question}: (typeof subjects)[number]) => {
    const waits = {urgency: 'pending', waitsSinceMs: Date.now()} as const;
    scheduler.watch(question.host, {account, uid: question.host, question, ...waits});
  };
  const late = subjects.filter(subject => subject.late);
  const others = subjects.filter(subject => !subject.late);
  /** Not the first verdict: on a busy machine, a check may run out of time and is repeated. */
  const verifiedAt = new Map<string, number>();
  scheduler.subscribe(key => {
    if (scheduler.get(key)?.verdict.verified) verifiedAt.set(key, verifiedAt.get(key) ?? performance.now());
  });
  for (const subject of others) watch(subject);
  await systemClock.sleep(lateAfterMs);
  const watched = performance.now();
  for (const subject of late) watch(subject);
  const all = () => late.every(({question}) => verifiedAt.has(question.host));
  await until('the late ones are verified', all, {timeoutMs: limitMs, intervalMs: 20}).catch(() => false);
  const result = {
    late: late.map(({question: {host}}) => {
      const at = verifiedAt.get(host);
      return {host, ...(at !== undefined && {ms: at - watched})};
    }),
  };
  stop.abort();
  await done;
  return result;
}
