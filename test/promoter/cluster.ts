import { randomUUID } from 'node:crypto'
import { customResourceDefinitions } from '../../src/kube/core-types.ts'
import { approval as approvalKind } from '../../src/apis/approval.ts'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import { pipeline as pipelineKind, type Pipeline, type PipelineSpec } from '../../src/apis/pipeline.ts'
import { KubernetesAdmission } from '../../src/admission/registered/kubernetes-admission.ts'
import type { AdmissionHook } from '../../src/apiserver/objects/contract/admission.ts'
import { openMemoryStore } from '../../src/apiserver/store/sqlite-store.ts'
import { startTestServer, type TestServer } from '../apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import { TransportError } from '../../src/client/transport-error.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import type { Transport } from '../../src/kube/transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { Clusters } from '../../src/runtime/clusters/clusters.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { Promoter, type PromoterOptions } from '../../src/systems/promoter/controller.ts'
import { trusting } from '../trusting.ts'
import { localNetwork } from '../local-network.ts'

export const helmRelease: ResourceType = {
  group: 'helm.toolkit.fluxcd.io',
  version: 'v2',
  kind: 'HelmRelease',
  plural: 'helmreleases',
  namespaced: true,
}
export const kustomization: ResourceType = {
  group: 'kustomize.toolkit.fluxcd.io',
  version: 'v1',
  kind: 'Kustomization',
  plural: 'kustomizations',
  namespaced: true,
}
const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
export const secrets = core('Secret', 'secrets')
export const namespaces = core('Namespace', 'namespaces', false)
export const configMaps = core('ConfigMap', 'configmaps')
export const events = core('Event', 'events')

/** A cluster with the kinds that pipelines are about. */
export class TestCluster {
  readonly server: TestServer
  readonly client: Client
  /** What becomes of every request while it is set. */
  down: Transport | undefined
  /** Watches through `transport` that have not ended. */
  watching = 0

  private constructor(server: TestServer) {
    this.server = server
    this.client = new Client(this.transport)
  }

  static async start(
    given: { types?: ResourceType[]; hasPolicies?: boolean; admission?: AdmissionHook[] } = {},
  ): Promise<TestCluster> {
    const { types = [helmRelease, kustomization], hasPolicies = false, admission = [] } = given
    const store = openMemoryStore(systemClock)
    const kubernetes = new KubernetesAdmission(store)
    const server = await startTestServer({ clock: systemClock, store, admission: [...admission, kubernetes.hook] })
    const call = () => Promise.reject(new Error('no webhook is called here'))
    if (hasPolicies) kubernetes.start({ server, uid: randomUUID, clock: systemClock, onError: console.error, call })
    const cluster = new TestCluster(server)
    for (const { crd } of [pipelineKind, gitopsCluster, approvalKind])
      await cluster.client.create(customResourceDefinitions, crd)
    for (const type of types) await cluster.install(type)
    return cluster
  }

  get transport(): Transport {
    return async (request) => {
      if (this.down) return this.down(request)
      const response = await this.server.transport(request)
      return response.stream ? { ...response, stream: this.#counted(response.stream) } : response
    }
  }

  async *#counted(stream: AsyncIterable<unknown>): AsyncIterable<unknown> {
    this.watching++
    try {
      yield* stream
    } finally {
      this.watching--
    }
  }

  async install(type: ResourceType): Promise<void> {
    await this.client.create(customResourceDefinitions, definitionOf(type))
  }

  async namespace(name: string): Promise<void> {
    await this.client
      .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      .catch(ignoring('AlreadyExists'))
  }

  async secret(namespace: string, name: string, data: Record<string, string>): Promise<void> {
    await this.namespace(namespace)
    const encoded = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    )
    await this.client.apply(
      secrets,
      { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data: encoded },
      { force: true },
    )
  }

  /** A HelmRelease as Flux 2.6 leaves it. */
  async release(namespace: string, version: string, over: { ready?: boolean; name?: string } = {}): Promise<void> {
    const { ready = true, name = 'app' } = over
    const history = [
      {
        version: 1,
        status: 'deployed',
        chartVersion: version,
        name,
        namespace,
        chartName: 'app',
        digest: 'sha256:0',
        configDigest: 'sha256:0',
        firstDeployed: '2026-01-01T00:00:00Z',
        lastDeployed: '2026-01-01T00:00:00Z',
      },
    ]
    await this.app(
      helmRelease,
      { namespace, name },
      { observedGeneration: 1, conditions: [condition('Ready', ready)], history },
    )
  }

  async app(
    type: ResourceType,
    place: { namespace: string; name: string },
    status?: Record<string, unknown>,
  ): Promise<void> {
    await this.namespace(place.namespace)
    const object: KubeObject = {
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      metadata: place,
      spec: {},
    }
    const found = await this.client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
    const current = found ?? (await this.client.create<StoredObject>(type, object))
    if (status) await this.client.update(type, { ...current, status }, { subresource: 'status' })
  }

  async close(): Promise<void> {
    await this.server.close()
  }
}

/** The promoter at work on a cluster. */
export class TestPromoter {
  readonly promoter: Promoter
  readonly home: TestCluster
  readonly metrics = new Metrics()
  readonly clusters: Clusters
  readonly informers: Informers
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(home: TestCluster, leaves: Record<string, TestCluster> = {}, options: Partial<PromoterOptions> = {}) {
    this.home = home
    const ports = { clock: systemClock, log: silentLogger, metrics: this.metrics }
    const { client } = home
    this.informers = new Informers(ports)
    const events = new EventRecorder('promoter', { client, ...ports })
    this.clusters = new Clusters(
      {
        home: client,
        informers: this.informers,
        connect: (kubeconfig, cluster) => new Client(leaves[kubeconfig]?.transport ?? unreachable, { cluster }),
        clock: systemClock,
        log: silentLogger,
      },
      { probeMs: 200, lingerMs: 50 },
    )
    this.promoter = new Promoter({
      client,
      informers: this.informers,
      clusters: this.clusters,
      actAs: trusting(client),
      events,
      ports,
      network: localNetwork(),
      ...options,
    })
    this.#running = this.promoter.controller.start(this.#stopping.signal)
  }

  async pipeline(name: string, spec: PipelineSpec): Promise<Pipeline> {
    await this.home.namespace('team')
    const object = {
      apiVersion: pipelineKind.apiVersion,
      kind: 'Pipeline',
      metadata: { namespace: 'team', name },
      spec,
    }
    return this.home.client.create<Pipeline>(pipelineKind.type, object)
  }

  get(name: string): Promise<Pipeline> {
    return this.home.client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name })
  }

  /** The pipeline once it is as wanted. */
  async until(name: string, wanted: (pipeline: Pipeline) => unknown): Promise<Pipeline> {
    const place = { namespace: 'team', fieldSelector: `metadata.name=${name}` }
    const first = await this.home.client.list<Pipeline>(pipelineKind.type, place)
    for (const pipeline of first.items) if (wanted(pipeline)) return pipeline
    const { resourceVersion } = first.metadata
    const signal = AbortSignal.timeout(40_000)
    let last = first.items[0]
    try {
      for await (const { type, object } of this.home.client.watch<Pipeline>(pipelineKind.type, {
        ...place,
        resourceVersion,
        signal,
      })) {
        if (type === 'BOOKMARK') continue
        last = object
        if (wanted(object)) return object
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
    throw new Error(`never: ${String(wanted)}\n${JSON.stringify(last?.status, null, 1)}`)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('test is over'))
    await this.#running
    this.promoter.close()
    this.clusters.close()
    this.informers.close()
  }
}

export function condition(type: string, value: boolean) {
  return {
    type,
    status: value ? 'True' : 'False',
    reason: 'Test',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
}

export function conditionOf({ status }: Pipeline, type: string) {
  return status?.conditions?.find((each) => each.type === type)
}

const unreachable: Transport = () => Promise.reject(new TransportError('connect ECONNREFUSED'))

function definitionOf({ group, version, kind, plural }: ResourceType): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: free, status: free } } },
        },
      ],
    },
  }
}

const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
