/** Whether a GitOps controller owns a Project, and would revert a change made here. */
import type {Project} from '../../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

/** The labels and annotations that each one sets on what it applies. */
const MARKS: Readonly<Record<string, readonly string[]>> = {
  'Argo CD': ['argocd.argoproj.io/tracking-id', 'argocd.argoproj.io/instance'],
  Flux: ['kustomize.toolkit.fluxcd.io/name', 'helm.toolkit.fluxcd.io/name'],
};

export function gitOpsOwner({metadata}: DeepReadonly<Project>): string | undefined {
  const found = Object.entries(MARKS).find(([, keys]) =>
    keys.some(key => metadata.labels?.[key] !== undefined || metadata.annotations?.[key] !== undefined),
  );
  return found?.[0];
}
