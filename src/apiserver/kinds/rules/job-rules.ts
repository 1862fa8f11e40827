import type { KubeObject, ObjectMeta } from '../../../kube/object.ts'
import type { CreateContext, KindRules } from './kind-rules.ts'

interface JobSpec {
  readonly manualSelector?: boolean
  readonly selector?: unknown
  readonly template?: { readonly metadata?: ObjectMeta; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** Gives a Job a selector for pods with its own uid, unless `spec.manualSelector` is set. */
export const jobRules: Partial<KindRules> = { prepareCreate: selectByUid }

function selectByUid(object: KubeObject, { uid }: CreateContext): KubeObject {
  const spec = (object.spec ?? {}) as JobSpec
  if (spec.manualSelector) return object
  const name = object.metadata.name ?? ''
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  }
  return {
    ...object,
    metadata: { ...object.metadata, labels: { ...labels, ...object.metadata.labels } },
    spec: {
      ...spec,
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      template: {
        ...spec.template,
        metadata: { ...spec.template?.metadata, labels: { ...spec.template?.metadata?.labels, ...labels } },
      },
    },
  }
}
