import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import type { Clock } from './clock.ts'
import type { Informer, InformerOptions } from './informer.ts'
import type { Informers } from './informers.ts'
import type { Logger } from './log.ts'
import type { Random } from './random.ts'

/** What is known of a cluster. In every state but `reachable` its facts are Unknown. */
export type ClusterState =
  | { readonly state: 'reachable' }
  | { readonly state: 'connecting' }
  | { readonly state: 'unreachable'; readonly because: string }
  | { readonly state: 'not-found' }
  | { readonly state: 'not-ready'; readonly because: string }
  | { readonly state: 'no-credentials'; readonly because: string }

export interface ClustersPorts {
  /** The cluster that holds the GitopsClusters and their Secrets. */
  readonly home: Client
  readonly informers: Informers
  /** A client for what a kubeconfig names; throws when it cannot be read. `close` ends its connections. */
  readonly connect: (kubeconfigText: string, cluster: string) => Client | Promise<Client>
  readonly disconnect?: (client: Client) => void
  readonly clock: Clock
  readonly log: Logger
  readonly random?: Random
}

/** One use of a cluster. */
export interface ClusterHandle {
  /** '' for home, else `namespace.name` of the GitopsCluster. */
  readonly name: string
  readonly status: ClusterState
  /** The client of now; absent while there is none. Another one after a change of credentials. */
  readonly client: Client | undefined
  /** When the cluster last answered, in epoch milliseconds. */
  readonly lastSeenAt: number | undefined
  /** An informer that moves over to new credentials by itself. */
  open<T extends StoredObject = StoredObject>(type: ResourceType, options?: InformerOptions<T>): Informer<T>
  /** Tells when status or client change. The result ends it. */
  onChange(handler: () => void): () => void
  close(): void
}

/** The name under which a GitopsCluster goes in keys. */
export function clusterNameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}.${name}`
}

/** Clusters by name, from GitopsClusters and their kubeconfig Secrets: connected while used, again when credentials change. */
export declare class Clusters {
  constructor(ports: ClustersPorts, options?: { readonly lingerMs?: number; readonly probeMs?: number })
  /** One more use of a cluster; never waits: the handle's status says how far it is. */
  client(name: string): ClusterHandle
  close(): void
}
