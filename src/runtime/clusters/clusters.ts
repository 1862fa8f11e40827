import type { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import type { Clock } from '../time/clock.ts'
import { ClusterMember } from './cluster-member.ts'
import type { Informer, InformerOptions } from '../cache/informer.ts'
import type { Informers } from '../cache/informers.ts'
import type { Logger } from '../observability/log.ts'
import type { Random } from '../time/random.ts'

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
  /** A client for what a kubeconfig names; throws when it cannot be read. */
  readonly connect: (kubeconfigText: string, cluster: string) => Client | Promise<Client>
  /** Ends what a client from `connect` has open. Defaults to nothing. */
  readonly disconnect?: (client: Client) => void
  readonly clock: Clock
  readonly log: Logger
  readonly random?: Random
}

export interface ClustersOptions {
  /** How long a cluster stays connected after its last use. Defaults to 60 s. */
  readonly lingerMs?: number
  /** How often a cluster is asked whether it still answers. Defaults to 30 s. */
  readonly probeMs?: number
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

/** Clusters by name, from GitopsClusters and their kubeconfig Secrets: connected while used, again when credentials change. */
export class Clusters {
  readonly #ports: ClustersPorts
  readonly #options: ClustersOptions
  /** Each is in use, or was until less than a linger ago. */
  readonly #members = new Map<string, ClusterMember>()

  constructor(ports: ClustersPorts, options: ClustersOptions = {}) {
    this.#ports = ports
    this.#options = options
  }

  /** One more use of a cluster; never waits: the handle's status says how far it is. */
  client(name: string): ClusterHandle {
    if (name === '') return homeHandle(this.#ports)
    const forget = () => this.#members.delete(name)
    const create = () => new ClusterMember(name, this.#ports, this.#options, forget)
    return this.#members.getOrInsertComputed(name, create).use()
  }

  close(): void {
    for (const member of this.#members.values()) member.close()
    this.#members.clear()
  }
}

function homeHandle({ home, informers, clock }: ClustersPorts): ClusterHandle {
  const opened = new Set<() => void>()
  return {
    name: '',
    status: { state: 'reachable' },
    client: home,
    get lastSeenAt() {
      return clock.now()
    },
    open: (type, options) => {
      const informer = informers.open(home, type, options)
      opened.add(() => informer.close())
      return informer
    },
    onChange: () => () => {},
    close: () => {
      for (const end of opened) end()
    },
  }
}
