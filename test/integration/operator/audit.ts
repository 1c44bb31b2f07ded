/** The operator's requests, from the API server's audit log. */
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {jsonLines} from '../../support/json-lines.ts';

/** https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event */
export interface AuditEvent {
  readonly verb: string;
  readonly user: {readonly username: string};
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: {readonly code?: number; readonly message?: string};
  readonly requestURI: string;
  readonly stage: string;
  readonly userAgent?: string;
  /** When the request came and when it was answered: RFC 3339 with microseconds, which sorts as text. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

export class Audit {
  readonly #log: string;
  readonly #user: string;

  private constructor(log: string, user: string) {
    this.#log = log;
    this.#user = user;
  }

  /** Records the requests of one user and, separately, those of `others`. `flags` are for kube-apiserver. */
  static async prepare(
    folder: string,
    user: string,
    others: readonly string[] = [],
  ): Promise<{audit: Audit; flags: string[]}> {
    const policy = join(folder, 'audit-policy.json');
    const log = join(folder, 'audit.log');
    const rules = [{level: 'Metadata', users: [user, ...others]}, {level: 'None'}];
    const content = {apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules};
    await writeFile(policy, JSON.stringify(content)); // JSON is YAML
    const flags = [
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${log}`,
      '--audit-log-mode=blocking-strict',
      '--audit-log-maxsize=100000',
    ];
    return {audit: new Audit(log, user), flags};
  }

  async events(user = this.#user): Promise<AuditEvent[]> {
    const text = await readFile(this.#log, 'utf8').catch(() => '');
    return jsonLines<AuditEvent>(text).filter(({user: {username}}) => username === user);
  }

  /** Successful changes, without the Lease, which is renewed all the time. */
  async writes(user = this.#user): Promise<AuditEvent[]> {
    const events = await this.events(user);
    return events.filter(({verb, objectRef}) => WRITES.has(verb) && objectRef?.resource !== 'leases');
  }
}
