import type { KubeObject } from '../../../kube/object.ts'

/** What is known of a resource's use. Only `unused` ever leads to a deletion. */
export type Use =
  | { readonly state: 'used'; readonly by: string }
  | {
      readonly state: 'unused'
      readonly because: string
      /** Since when, where the provider says. */ readonly since?: number
    }
  | { readonly state: 'unknown'; readonly because: string }

/** One thing a policy looks at, whoever provides it. */
export interface Resource {
  readonly provider: 'kubernetes' | 'aws'
  /** `ConfigMap`, `image`: what rules apply to and opt-outs name. */
  readonly kind: string
  readonly apiVersion: string
  readonly namespace?: string | undefined
  /** Its name; of a cloud resource its id. */
  readonly name: string
  /** What tells it from another one under the same name. */
  readonly uid: string
  readonly resourceVersion?: string | undefined
  /** '' at home, `namespace.name` of another cluster, `aws:account:region`. */
  readonly cluster: string
  readonly account?: string | undefined
  readonly region?: string | undefined
  readonly createdAt?: number | undefined
  /** Labels and annotations, or tags: whatever people write on it. */
  readonly tags: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly use: Use
  /** What it is called in Swabbie's words; looked at before `object`. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined
  /** The object itself, for paths and expressions. */
  readonly object: KubeObject
  /** What it belongs to: batches never mix groups. */
  readonly group?: string | undefined
  /** Why its provider or its owner forbids to touch it. */
  readonly shield?: { readonly because: 'owned' | 'shielded'; readonly detail: string } | undefined
}

/** Everything of the wanted sorts at one location, or nothing at all: there are no partial inventories. */
export interface Inventory {
  readonly resources: readonly Resource[]
  /** How many more resources there are that stay excluded and have no mark. */
  readonly skipped?: number
  readonly observedAt: number
  /** How many references to resources were seen, where the provider counts them. */
  readonly references?: number
}

/** A listing that is not known to be complete. Nothing is marked, unmarked or deleted on it. */
export class InventoryError extends Error {
  override readonly name = 'InventoryError'
}

/** One string per resource of a location, for maps. */
export function resourceKey({
  kind,
  namespace = '',
  name,
  uid,
}: Pick<Resource, 'kind' | 'namespace' | 'name' | 'uid'>): string {
  return `${kind}/${namespace}/${name}/${uid}`
}

/** `ConfigMap shop/settings`, for people. */
export function describeResource({ kind, namespace, name }: Pick<Resource, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`
}
