import { secrets } from '../../kube/core-types.ts'
import { ClusterConnection } from './cluster-connection.ts'
import type { ClusterHandle, ClustersOptions, ClustersPorts, ClusterState } from './clusters.ts'
import {
  gitopsClusters,
  kubeconfigIn,
  placeOfCluster,
  secretNameOf,
  unreadiness,
  type GitopsCluster,
  type KubeconfigSecret,
} from './gitops-cluster.ts'
import type { Informer } from '../cache/informer.ts'
import { systemRandom } from '../time/random.ts'

/** A cluster in use: its GitopsCluster and Secret, watched, and the connection they lead to. */
export class ClusterMember {
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
    const probeMs = options.probeMs ?? 5000
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
