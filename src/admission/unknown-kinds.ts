import type { AdmissionHook } from '../apiserver/objects/contract/admission.ts'
import { bond, type BondSpec } from '../apis/bond.ts'
import { cleanerKinds } from '../apis/cleaner-kinds.ts'
import { apiVersionOf, type KubeObject } from '../kube/object.ts'
import { readModel } from '../systems/cleaner/decision/read-model.ts'

/** A kind that an object refers to, and where. */
export interface KindReference {
  readonly field: string
  readonly apiVersion: string
  readonly kind: string
}

/** A warning about each is a line of the answer, and costs requests to the cluster. */
const maxReferences = 20

/** The kinds that a valid Cleaner, ConditionalTTL or Bond refers to in its own cluster; of very many the first. */
export function referredKinds(object: KubeObject): readonly KindReference[] {
  if (object.kind === bond.kind && object.apiVersion === bond.apiVersion) {
    const { dependent, dependency } = object.spec as BondSpec
    const here = [{ field: 'spec.dependent.kind', ...dependent }]
    return dependency.cluster ? here : [...here, { field: 'spec.dependency.kind', ...dependency }]
  }
  if (!cleanerKinds.some(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind)) return []
  const reading = readModel(object)
  if ('problems' in reading) return []
  const all = reading.model.targets.map(({ apiVersion, kind }, index) => ({
    field: `spec.targets[${index}].reference.kind`,
    apiVersion,
    kind,
  }))
  return all.slice(0, maxReferences)
}

/** What `kubectl apply` prints: it may be a mistake, or the definition may follow. */
export function warningAbout({ field, apiVersion, kind }: KindReference): string {
  return `${field}: the cluster serves no ${kind} in ${apiVersion}: nothing is found until it does`
}

/** Warns on the embedded server about kinds that it does not serve. */
export function unknownKindsHook(
  served: () => Iterable<{ readonly group: string; readonly version: string; readonly kind: string }>,
): AdmissionHook {
  return {
    validate({ operation, subresource, object }) {
      if (operation === 'DELETE' || subresource !== '' || !object) return
      const references = referredKinds(object)
      if (references.length === 0) return
      const known = new Set([...served()].map((type) => nameOf({ apiVersion: apiVersionOf(type), kind: type.kind })))
      return references.filter((reference) => !known.has(nameOf(reference))).map(warningAbout)
    },
  }
}

/** The case of a kind does not matter in a reference. */
function nameOf({ apiVersion, kind }: Pick<KindReference, 'apiVersion' | 'kind'>): string {
  return `${apiVersion} ${kind.toLowerCase()}`
}
