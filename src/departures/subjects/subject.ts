import type { Client } from '../../client/client.ts'
import { kindKey } from '../../kube/key.ts'
import {
  groupResource,
  type KubeObject,
  type ObjectRef,
  type ResourceType,
  type StoredObject,
} from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { contentsOf, instancesOf } from './contents.ts'

/** Preconditions and options of a delete. */
export interface DeleteOptions {
  readonly uid: string
  readonly resourceVersion: string
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
}

/** Something the door can delete: an object of a cluster, or a cloud resource represented as one. */
export interface Subject {
  readonly cluster: string
  readonly ref: ObjectRef
  /** Its current state; undefined when it does not exist. Throws when it cannot be read. */
  read(): Promise<KubeObject | undefined>
  /** Deletes it. `changed`: not deleted, because uid or version differ. */
  remove(removal: DeleteOptions): Promise<'gone' | 'leaving' | 'changed'>
  /** How many objects of its kind exist, in all or in one namespace, itself included. Throws when they cannot be counted. */
  countKind(namespace?: string): Promise<number>
  /** The objects that the cluster deletes with it. Throws when they cannot all be listed. */
  contents?(options: { readonly metadataOnly: boolean }): AsyncIterable<KubeObject>
}

/** `cluster/Kind.group`, by which budgets count. */
export function subjectKind({ cluster, ref }: Pick<Subject, 'cluster' | 'ref'>): string {
  const slash = ref.apiVersion.indexOf('/')
  const group = slash < 0 ? '' : ref.apiVersion.slice(0, slash)
  return `${cluster}/${kindKey({ group, kind: ref.kind })}`
}

/** An object of a cluster. */
export function kubeSubject(client: Client, type: ResourceType, ref: ObjectRef): Subject {
  const place = { name: ref.name, ...(ref.namespace ? { namespace: ref.namespace } : {}) }
  return {
    cluster: client.cluster,
    ref,
    read: () => client.get<StoredObject>(type, place).catch(ignoring('NotFound')),

    async remove({ uid, resourceVersion, propagation = 'Background', gracePeriodSeconds }) {
      try {
        const answer = await client.deleteObject(type, place, {
          uid,
          resourceVersion,
          propagationPolicy: propagation,
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        })
        return answer.metadata?.deletionTimestamp ? 'leaving' : 'gone'
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return 'gone'
        if (isStatusError(error, 'Conflict')) return 'changed'
        throw error
      }
    },

    async countKind(namespace) {
      const only = { limit: 1, metadataOnly: true, ...(namespace ? { namespace } : {}) }
      const { metadata, items } = await client.list(type, only)
      return items.length + (metadata.remainingItemCount ?? 0)
    },

    ...contentsIn(client, type, ref),
  }
}

/** A Namespace is deleted with its contents, a CustomResourceDefinition with the objects of its kind. */
function contentsIn(client: Client, type: ResourceType, { name }: ObjectRef): Pick<Subject, 'contents'> {
  switch (groupResource(type)) {
    case 'namespaces':
      return { contents: (options) => contentsOf(client, name, options) }
    case 'customresourcedefinitions.apiextensions.k8s.io':
      return { contents: (options) => instancesOf(client, name, options) }
    default:
      return {}
  }
}
