/** What the operator requested from the API server, according to the audit log. */
import {OPERATOR_USER} from '../../support/install.ts';
import {jsonLines} from '../../support/json-lines.ts';
import type {KeyWorld} from './key-world.ts';

interface AuditLine {
  readonly verb: string;
  readonly user: {readonly username: string};
  readonly objectRef?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly resource?: string;
    readonly subresource?: string;
  };
}

/** "verb resource" of its requests in a namespace and for the record of one key, in order, without Events. */
export async function operatorRequests(world: KeyWorld, namespace: string, hash: string): Promise<string[]> {
  return jsonLines<AuditLine>(await world.auditLog()).flatMap(({verb, user, objectRef = {}}) => {
    const {resource, subresource} = objectRef;
    const isMeant = objectRef.namespace === namespace || objectRef.name === hash;
    if (user.username !== OPERATOR_USER || !isMeant || resource === 'events') return [];
    return [[verb, resource, subresource].filter(Boolean).join(' ')];
  });
}
