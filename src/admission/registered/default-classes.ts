import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { Followed } from './followed.ts'

type Fields = Readonly<Record<string, unknown>>

const priorityClasses = 'priorityclasses.scheduling.k8s.io'
const storageClasses = 'storageclasses.storage.k8s.io'
const ingressClasses = 'ingressclasses.networking.k8s.io'

/** The kinds whose objects can be the default of others. */
export const classKinds = [priorityClasses, storageClasses, ingressClasses] as const

/** Gives Pods, claims and Ingresses that name no class the default one, if there is any. */
export function defaultClassAdmission(followed: Followed): AdmissionHook {
  return {
    mutate(review) {
      const { type, operation, subresource, object } = review
      if (operation !== 'CREATE' || subresource !== '') return object
      const defaults = defaultsFor[type.resource]?.(followed, review)
      return defaults ? { ...object, spec: { ...(object.spec as Fields), ...defaults } } : object
    },
  }
}

type Defaults = (followed: Followed, review: Review & { readonly object: KubeObject }) => Fields | undefined

const defaultsFor: Readonly<Record<string, Defaults>> = {
  pods(followed, { object }) {
    if ((object.spec as Fields)['priorityClassName']) return undefined
    const all = followed.of<StoredObject & Fields>(priorityClasses).filter((each) => each['globalDefault'] === true)
    const [lowest] = all.toSorted((a, b) => Number(a['value']) - Number(b['value']))
    if (!lowest) return undefined
    const { value: priority = 0, preemptionPolicy = 'PreemptLowerPriority' } = lowest
    return { priorityClassName: lowest.metadata.name, priority, preemptionPolicy }
  },
  persistentvolumeclaims(followed, { object: { metadata, spec } }) {
    if ((spec as Fields)['storageClassName'] !== undefined) return undefined
    if (metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined) return undefined
    const name = newestMarked(followed, storageClasses, 'storageclass.kubernetes.io/is-default-class')
    return name === undefined ? undefined : { storageClassName: name }
  },
  'ingresses.networking.k8s.io'(followed, { object: { metadata, spec } }) {
    if ((spec as Fields)['ingressClassName'] !== undefined) return undefined
    if (metadata.annotations?.['kubernetes.io/ingress.class'] !== undefined) return undefined
    const name = newestMarked(followed, ingressClasses, 'ingressclass.kubernetes.io/is-default-class')
    return name === undefined ? undefined : { ingressClassName: name }
  },
}

/** The newest class with the annotation; of two of the same second, the first by name. */
function newestMarked(followed: Followed, resource: string, annotation: string): string | undefined {
  const marked = followed.of(resource).filter(({ metadata }) => metadata.annotations?.[annotation] === 'true')
  const createdAt = ({ metadata }: StoredObject) => metadata.creationTimestamp
  return marked.toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : createdAt(a) > createdAt(b) ? -1 : 0))[0]
    ?.metadata.name
}
