import type { KubeObject } from '../../../kube/object.ts'
import type { KindRules } from './kind-rules.ts'

interface NamespaceSpec {
  readonly finalizers?: readonly string[]
}

/** Namespaces that every cluster has and that cannot be deleted. */
export const immortalNamespaces: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public'])

/** A namespace exists until the namespace controller has emptied it and removed its finalizer from the spec. */
export const namespaceRules: Partial<KindRules> = {
  prepareCreate: (object) => withNameLabel({ ...object, spec: withKubernetes(object), status: { phase: 'Active' } }),
  prepareUpdate: (object, old) => withNameLabel({ ...object, spec: old.spec, status: old.status }),
  isHeld: (object) => (specOf(object).finalizers ?? []).length > 0,
  prepareDelete: (object) => ({ ...object, status: { ...(object.status as object), phase: 'Terminating' } }),
}

function withKubernetes(object: KubeObject): NamespaceSpec {
  const { finalizers = [] } = specOf(object)
  return {
    ...specOf(object),
    finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'],
  }
}

function withNameLabel(object: KubeObject): KubeObject {
  const { metadata } = object
  const labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name ?? '' }
  return { ...object, metadata: { ...metadata, labels } }
}

function specOf(object: KubeObject): NamespaceSpec {
  return (object.spec ?? {}) as NamespaceSpec
}
