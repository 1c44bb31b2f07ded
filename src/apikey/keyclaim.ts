/**
 * The record of which account a key belongs to. It is cluster-scoped and named after the key's hash, and only the
 * operator writes it. A name is unique in the cluster, so the API server itself decides who held a key first, and no
 * right within a namespace reaches the record.
 */
import type {KeyClaimSpec} from '../api/generated/keyclaim.ts';
import {API_VERSION} from '../api/names.ts';
import {type KubeObject, resourceType} from '../runtime/kube/object.ts';

export interface KeyClaim extends KubeObject {
  spec: KeyClaimSpec;
}

export const KEY_CLAIM = resourceType<KeyClaim>(API_VERSION, 'KeyClaim', 'keyclaims', 'cluster');
