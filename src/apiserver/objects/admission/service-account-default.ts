import type { AdmissionHook } from '../contract/admission.ts'

interface PodSpec {
  readonly serviceAccountName?: string
  readonly serviceAccount?: string
}

/** A pod that names no ServiceAccount runs as `default`. */
export const serviceAccountDefault: AdmissionHook = {
  mutate({ operation, type, subresource, object }) {
    if (operation !== 'CREATE' || type.resource !== 'pods' || subresource) return object
    const spec = (object.spec ?? {}) as PodSpec
    if (spec.serviceAccountName) return object
    return { ...object, spec: { ...spec, serviceAccountName: 'default', serviceAccount: 'default' } }
  },
}
