import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import type { Clock } from './clock.ts'
import { ClusterConnection } from './cluster-connection.ts'
import {
  gitopsClusters,
  kubeconfigIn,
  placeOfCluster,
  secretNameOf,
  secrets,
  unreadiness,
  type GitopsCluster,
  type KubeconfigSecret,
} from './gitops-cluster.ts'
import type { Informer, InformerOptions } from './informer.ts'
import type { Informers } from './informers.ts'
import type { Logger } from './log.ts'
import { systemRandom, type Random } from './random.ts'

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
  readonly #members = new Map<string, Member>()

  constructor(ports: ClustersPorts, options: ClustersOptions = {}) {
    this.#ports = ports
    this.#options = options
  }

  /** One more use of a cluster; never waits: the handle's status says how far it is. */
  client(name: string): ClusterHandle {
    if (name === '') return homeHandle(this.#ports)
    let member = this.#members.get(name)
    if (!member) {
      member = new Member(name, this.#ports, this.#options, () => this.#members.delete(name))
      this.#members.set(name, member)
    }
    return member.use()
  }

  close(): void {
    for (const member of this.#members.values()) member.close()
    this.#members.clear()
  }
}

/** A cluster in use: its GitopsCluster and Secret, watched, and the connection they lead to. */
class Member {
  readonly #name: string
  readonly #ports: ClustersPorts
  readonly #lingerMs: number
  readonly #forget: () => void
  readonly #connection: ClusterConnection
  readonly #cluster: Informer<GitopsCluster>
  /** The Secret named by the GitopsCluster at the time. */
  #secret: { readonly name: string; readonly informer: Informer<KubeconfigSecret> } | undefined
  readonly #handlers = new Set<() => void>()
  #uses = 0
  #stopLingering = () => {}

  constructor(name: string, ports: ClustersPorts, options: ClustersOptions, forget: () => void) {
    const { home, informers, connect, disconnect = () => {}, clock, random = systemRandom } = ports
    const place = placeOfCluster(name)
    this.#name = name
    this.#ports = ports
    this.#lingerMs = options.lingerMs ?? 60_000
    this.#forget = forget
    const probeMs = options.probeMs ?? 30_000
    const changed = (moved: boolean) => this.#changed(moved)
    this.#connection = new ClusterConnection(name, { connect, disconnect, clock, random, probeMs, changed })
    this.#cluster = informers.open<GitopsCluster>(home, gitopsClusters, only(place))
    this.#cluster.subscribe(() => this.#refresh())
    this.#cluster.whenSynced().then(
      () => this.#refresh(),
      () => {},
    )
  }

  use(): ClusterHandle {
    this.#uses++
    this.#stopLingering()
    const endings = new Set<() => void>()
    const status = () => this.#status()
    const connection = this.#connection
    let closed = false
    return {
      name: this.#name,
      get status() {
        return status()
      },
      get client() {
        return connection.client
      },
      get lastSeenAt() {
        return connection.lastSeenAt
      },
      open: (type, informerOptions) => {
        const informer = this.#ports.informers.open(this.#connection.reader, type, informerOptions)
        endings.add(() => informer.close())
        return informer
      },
      onChange: (handler) => {
        this.#handlers.add(handler)
        const end = () => this.#handlers.delete(handler)
        endings.add(end)
        return end
      },
      close: () => {
        if (closed) return
        closed = true
        for (const end of endings) end()
        this.#release()
      },
    }
  }

  close(): void {
    this.#stopLingering()
    this.#secret?.informer.close()
    this.#cluster.close()
    this.#handlers.clear()
    this.#connection.drop({ state: 'connecting' })
  }

  #release(): void {
    if (--this.#uses > 0) return
    this.#stopLingering = this.#ports.clock.after(this.#lingerMs, () => {
      this.close()
      this.#forget()
    })
  }

  /** What the GitopsCluster says of itself counts only while the way there is open. */
  #status(): ClusterState {
    const cluster = this.#object()
    const because = cluster && unreadiness(cluster)
    return because !== undefined && this.#connection.state.state === 'reachable'
      ? { state: 'not-ready', because }
      : this.#connection.state
  }

  #object(): GitopsCluster | undefined {
    const { namespace, name } = placeOfCluster(this.#name)
    return this.#cluster.get(namespace, name)
  }

  /** Brings the connection in line with the GitopsCluster and its Secret as they are. */
  #refresh(): void {
    const cluster = this.#object()
    if (!cluster) {
      this.#follow(undefined)
      if (this.#cluster.synced) this.#connection.drop({ state: 'not-found' })
      return
    }
    const secretName = secretNameOf(cluster)
    this.#follow(secretName)
    if (secretName === undefined || !this.#secret) {
      const because = 'the GitopsCluster names neither a capiClusterRef nor a secretRef'
      return this.#connection.drop({ state: 'no-credentials', because })
    }
    const secret = this.#secret.informer.get(cluster.metadata.namespace ?? '', secretName)
    const kubeconfig = secret && kubeconfigIn(secret)
    if (kubeconfig !== undefined) this.#connection.use(kubeconfig)
    else if (this.#secret.informer.synced) {
      const because = secret ? `Secret ${secretName} holds no kubeconfig` : `Secret ${secretName} does not exist`
      this.#connection.drop({ state: 'no-credentials', because })
    }
    for (const handler of this.#handlers) handler()
  }

  /** Watches this Secret and no other. */
  #follow(secretName: string | undefined): void {
    if (this.#secret?.name === secretName) return
    this.#secret?.informer.close()
    this.#secret = undefined
    if (secretName === undefined) return
    const { namespace } = placeOfCluster(this.#name)
    const { home, informers } = this.#ports
    const informer = informers.open<KubeconfigSecret>(home, secrets, only({ namespace, name: secretName }))
    this.#secret = { name: secretName, informer }
    informer.subscribe(() => this.#refresh())
    informer.whenSynced().then(
      () => this.#refresh(),
      () => {},
    )
  }

  #changed(moved: boolean): void {
    const { state } = this.#connection
    this.#ports.log.info('cluster changed', { cluster: this.#name, ...state })
    // Another client may lead elsewhere: what was known by the former one has to be compared with all there is.
    if (moved) this.#ports.informers.relist(this.#name)
    for (const handler of this.#handlers) handler()
  }
}

function only({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return { namespace, fieldSelector: `metadata.name=${name}` }
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
