import type {APIKeySpec, APIKeyStatus} from '../api/generated/apikey.ts';
import {API_VERSION} from '../api/names.ts';
import {type DeepReadonly, type KubeObject, resourceType} from '../runtime/kube/object.ts';

export interface APIKey extends KubeObject {
  spec: APIKeySpec;
  status?: APIKeyStatus;
}

export const API_KEY = resourceType<APIKey>(API_VERSION, 'APIKey', 'apikeys');

/** The hashes that an APIKey holds, according to its status. */
export function hashesOf({status}: DeepReadonly<APIKey>): string[] {
  return [status?.sha256, status?.previous?.sha256].filter(hash => hash !== undefined);
}
