import type { KubeObject } from '../../../kube/object.ts'
import { invalidValue, type FieldError } from '../../schema/types/field-error.ts'
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
  validate: podSecurityFaults,
  prepareDelete: (object) => ({ ...object, status: { ...(object.status as object), phase: 'Terminating' } }),
}

const levels = { form: /^(privileged|baseline|restricted)$/, fault: 'must be one of privileged, baseline, restricted' }
const versions = { form: /^(latest|v1\.(0|[1-9]\d*))$/, fault: 'must be "latest" or "v1.x"' }

/** Faults of the labels of Pod Security, which a typing error would switch off. Those that did not change are not judged. */
function podSecurityFaults({ metadata: { labels = {} } }: KubeObject, old: KubeObject | undefined): FieldError[] {
  return ['enforce', 'audit', 'warn'].flatMap((mode) =>
    Object.entries({ [mode]: levels, [`${mode}-version`]: versions }).flatMap(([key, { form, fault }]) => {
      const label = `pod-security.kubernetes.io/${key}`
      const value = labels[label]
      const isKept = value === old?.metadata.labels?.[label]
      return value === undefined || isKept || form.test(value)
        ? []
        : [invalidValue(`metadata.labels[${label}]`, value, fault)]
    }),
  )
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
