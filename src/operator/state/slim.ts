/** What caches keep of the objects that tenants write. */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';

/** Finds the EndpointSlices of a Service. */
const SERVICE_NAME = 'kubernetes.io/service-name';
const LABELS: ReadonlySet<string> = new Set<string>([...Object.values(LABEL), SERVICE_NAME]);
const ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(ANNOTATION));
/** In characters. The values that we read are at most half as long. */
const MAX_VALUE = 256;

/**
 * Removes the labels and annotations that the operator does not read. An object may have 256 KiB of annotations, and a
 * tenant may have any number of objects. An object that is cached this way must be patched, never replaced.
 */
export function slimMetadata<T extends KubeObject>(object: T): T {
  const {labels, annotations, ...rest} = object.metadata;
  const metadata = {
    ...rest,
    ...(labels && {labels: kept(labels, LABELS)}),
    ...(annotations && {annotations: kept(annotations, ANNOTATIONS)}),
  };
  return {...object, metadata};
}

function kept(values: Record<string, string>, names: ReadonlySet<string>): Record<string, string> {
  const entries = Object.entries(values).filter(([name]) => names.has(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, value.slice(0, MAX_VALUE)]));
}
