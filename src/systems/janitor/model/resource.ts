import type { KubeObject } from '../../../kube/object.ts'

/** Whether a resource is in use. Only `unused` ever leads to a deletion. */
export type Use =
  | { readonly state: 'used'; readonly by: string }
  | {
      readonly state: 'unused'
      readonly because: string
      /** Since when, where the provider says. */ readonly since?: number
    }
  | { readonly state: 'unknown'; readonly because: string }

export function used(by: string): Use {
  return { state: 'used', by }
}

export function unused(because: string, since?: number): Use {
  return { state: 'unused', because, ...(since === undefined ? {} : { since }) }
}

export function unknownUse(because: string): Use {
  return { state: 'unknown', because }
}

/** One resource that a policy targets, of any provider. */
export interface Resource {
  readonly provider: 'kubernetes' | 'aws'
  /** `ConfigMap`, `image`: the kind that rules and opt-outs name. */
  readonly kind: string
  readonly apiVersion: string
  readonly namespace?: string | undefined
  /** The name; the id of a cloud resource. */
  readonly name: string
  /** Differs from that of a later resource of the same name. */
  readonly uid: string
  readonly resourceVersion?: string | undefined
  /** '' for the home cluster, `namespace.name` of another cluster, or `aws:account:region`. */
  readonly cluster: string
  readonly account?: string | undefined
  readonly region?: string | undefined
  readonly createdAt?: number | undefined
  /** Labels and annotations, or the tags of a cloud resource. */
  readonly tags: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly use: Use
  /** Properties by Swabbie's names; they take precedence over fields of `object`. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined
  /** The object itself, for paths and expressions. */
  readonly object: KubeObject
  /** The application it belongs to: batches never mix groups. */
  readonly group?: string | undefined
  /** Name, size and price of a cloud resource, for people. */
  readonly about?: string | undefined
  /** Why its provider or its owner forbids to delete it. */
  readonly shield?: { readonly because: 'owned' | 'shielded'; readonly detail: string } | undefined
}

/** Everything a policy targets at one location. It is always complete: a partial listing is an InventoryError. */
export interface Inventory {
  readonly resources: readonly Resource[]
  /** How many more resources there are that stay excluded and have no mark. */
  readonly skipped?: number
  readonly observedAt: number
  /** How many references to resources were found, where the provider counts them. */
  readonly references?: number
}

/** A listing may be incomplete. Nothing is marked, unmarked or deleted because of it. */
export class InventoryError extends Error {
  override readonly name = 'InventoryError'
}

/** A map key, unique among the resources of a location. */
export function resourceKey(resource: Pick<Resource, 'kind' | 'namespace' | 'name' | 'uid'>): string {
  const { kind, namespace = '', name, uid } = resource
  return `${kind}/${namespace}/${name}/${uid}`
}

/** `ConfigMap shop/settings`, for messages. */
export function describeResource({ kind, namespace, name }: Pick<Resource, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`
}
