import type { ProcessParts } from '../../runtime/process-parts.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { approval as approvalKind, type Approval } from '../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../apis/pipeline.ts'
import { keyFromString, keyOf, keyToString, type Key } from '../../kube/key.ts'
import { configMaps, events as eventType } from '../../kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Clusters } from '../../runtime/clusters/clusters.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import { settled, type Outcome } from '../../runtime/controller/outcome.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import type { ActsFor } from '../../tenancy/act-as.ts'
import { permanent } from '../../git/promotion-error.ts'
import { performEffect, type EffectPorts } from './effects/perform.ts'
import { jobProblem } from './strategies/verify.ts'
import { markerValue } from './model/adapter.ts'
import { ResponseCache } from '../../forges/forge-api.ts'
import { RateLimiter } from '../../forges/rate-limiter.ts'
import { EffectRunner, type Perform } from './effects/effect-runner.ts'
import { TargetAccess, readSecret, SecretVersions } from './targets/target-access.ts'
import type { Network } from '../../runtime/http/http.ts'
import { TargetObserver, type ObserverPorts } from './targets/target-observer.ts'
import { promoterMetrics, type PromoterMetrics } from './effects/promoter-metrics.ts'
import { previewPipeline, reconcilePipeline, type ReconcilePorts } from './reconcile.ts'
import { promoterRoutes, type Route } from './http/routes.ts'

export interface PromoterOptions extends Pick<ProcessParts, 'client' | 'informers' | 'events'> {
  readonly clusters: Clusters
  /** Whose rights bound what is read for a Pipeline. */
  readonly actAs: ActsFor
  readonly ports: ControllerPorts
  /** Where Flux's notification controller receives events, and how to reach it. Defaults to none. */
  readonly flux?: NonNullable<EffectPorts['flux']>
  /** Decide and report, but change nothing outside. Defaults to false. */
  readonly dryRun?: boolean
  /** Reaches the git servers, forges, webhooks and verification URLs that users name. */
  readonly network: Pick<Network, 'http' | 'connect'>
  /** Carries out effects. Defaults to `performEffect`. */
  readonly perform?: Perform
  /** Replaces the observed state of a target. Defaults to the observed state. */
  readonly adjustTarget?: ObserverPorts['adjustTarget']
  /** Reconcile at `spec.interval` even if nothing has changed. Defaults to true. */
  readonly resync?: boolean
}

/** The ConfigMap that stops all promotions in the cluster while its key `promotions` is `frozen`. */
const freezeName = 'freeze'

type Cached<T> = Informer<T & StoredObject>

/**
 * The promoter on one cluster: watches Pipelines, Approvals and the freeze ConfigMap, reconciles pipelines and
 * serves the HTTP routes. Acts only after its controller has been started.
 */
export class Promoter {
  readonly controller: Controller
  readonly routes: readonly Route[]
  readonly observer: TargetObserver
  readonly #options: PromoterOptions
  readonly #metrics: PromoterMetrics
  readonly #stopping = new AbortController()
  readonly #pipelines: Cached<Pipeline>
  readonly #approvals: Cached<Approval>
  readonly #freeze: Informer
  readonly #secrets: SecretVersions
  readonly #access: TargetAccess
  readonly #runner: EffectRunner

  constructor(options: PromoterOptions) {
    const { client, informers, clusters, ports } = options
    this.#options = options
    this.#access = new TargetAccess(options)
    this.#metrics = promoterMetrics(ports.metrics)
    this.#pipelines = informers.open<Pipeline & StoredObject>(client, pipelineKind.type)
    this.#approvals = informers.open<Approval & StoredObject>(client, approvalKind.type, {
      indexes: { pipeline: ({ metadata, spec }) => [`${metadata.namespace}/${spec.pipeline}`] },
    })
    this.#freeze = informers.open(client, configMaps, {
      namespace: sojournNamespace,
      fieldSelector: `metadata.name=${freezeName}`,
    })
    const onChange = (keys: Iterable<string>) => {
      for (const key of keys) this.controller.enqueue(keyFromString(key))
    }
    const { adjustTarget } = options
    this.observer = new TargetObserver({
      clusters,
      clock: ports.clock,
      onChange,
      ...(adjustTarget ? { adjustTarget } : {}),
    })
    this.#secrets = new SecretVersions({ informers, client, onChange: (key) => onChange([key]) })
    this.#runner = this.#createRunner()
    this.controller = new Controller({
      name: 'promoter',
      ports,
      concurrency: 8,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    })
    this.routes = this.#createRoutes()
    this.#watch()
  }

  close(): void {
    this.#stopping.abort(new Error('the promoter is stopping'))
    this.observer.close()
    this.#secrets.close()
    for (const informer of [this.#freeze, this.#approvals, this.#pipelines]) informer.close()
  }

  #createRunner(): EffectRunner {
    const { client, events, ports } = this.#options
    const { clock, log, random = systemRandom } = ports
    const effectPorts = this.#effectPorts()
    return new EffectRunner({
      client,
      perform:
        this.#options.perform ??
        ((effect, pipeline, signal) =>
          performEffect(effect, pipeline, {
            ports: { ...effectPorts, readSecret: (place) => this.#readSecretFor(pipeline, place.name) },
            signal,
          })),
      clock,
      random,
      log,
      events,
      metrics: this.#metrics,
      onEnd: (pipeline) => this.controller.enqueue(keyOf(pipeline as KubeObject)),
      signal: this.#stopping.signal,
    })
  }

  #effectPorts(): EffectPorts {
    const { client, ports, network, flux } = this.#options
    const now = () => ports.clock.now()
    const onRemaining = (host: string, requests: number) => this.#metrics.budgetLeft.set({ host }, requests)
    return {
      http: this.#metrics.countRequests(network.http),
      connect: network.connect,
      rateLimiter: new RateLimiter({ now, onRemaining }),
      countRequest: (request) => this.#metrics.requests.inc(request),
      responseCache: new ResponseCache(),
      readSecret: (place) => readSecret(client, place),
      createEvent: async (event) => void (await client.create(eventType, event).catch(ignoring('AlreadyExists'))),
      flux: flux && { ...flux, http: this.#metrics.countRequests(flux.http) },
      now,
      valueOf: markerValue,
      jobProblem: (check) => jobProblem(this.#access.actorOf(check.pipeline), check),
    }
  }

  /** A Secret of the Pipeline's namespace, if the Pipeline's creator may read it. */
  async #readSecretFor(pipeline: Pipeline, name: string): ReturnType<typeof readSecret> {
    const refusal = await this.#access.secretRefusal(pipeline, name)
    if (refusal !== undefined) throw permanent('CredentialsMissing', refusal)
    return readSecret(this.#options.client, { namespace: pipeline.metadata.namespace ?? '', name })
  }

  #createRoutes(): readonly Route[] {
    const { client, ports } = this.#options
    return promoterRoutes({
      client,
      clock: ports.clock,
      readSecret: (place) => readSecret(client, place),
      countApproval: (result) => this.#metrics.approvals.inc({ result }),
      hint: (pipeline) => this.#pollNow(pipeline),
      preview: (pipeline) => {
        const key = keyOf(pipeline as KubeObject)
        return previewPipeline(keyToString(key), pipeline, this.#reconcilePorts(key))
      },
    })
  }

  /** Reconciles a pipeline now and polls its open pull requests. */
  #pollNow(pipeline: Pipeline): void {
    const environments = Object.values(pipeline.status?.environments ?? {})
    this.#runner.forgetPolls(environments.flatMap(({ promotion }) => promotion?.id ?? []))
    this.controller.enqueue(keyOf(pipeline as KubeObject), 'user')
  }

  #watch(): void {
    this.controller.watch(this.#pipelines)
    this.#approvals.subscribe(({ object }) => {
      const key = pipelineKeyOf(object)
      // A user who asks for a retry may just have closed the pull request.
      const pipeline = object.status ? undefined : this.#pipelines.get(key.namespace, key.name)
      if (pipeline) this.#pollNow(pipeline)
      else this.controller.enqueue(key, 'user')
    })
    const enqueueAll = () => this.#enqueueAll()
    this.#freeze.subscribe(enqueueAll)
    for (const informer of [this.#freeze, this.#approvals]) informer.onError(enqueueAll)
    for (const informer of [this.#pipelines, this.#freeze, this.#approvals])
      informer.whenSynced().then(enqueueAll, () => {})
  }

  /** Includes the pipelines of all Approvals: one that no longer exists still has expired Approvals to delete. */
  #enqueueAll(): void {
    for (const pipeline of this.#pipelines.list()) this.controller.enqueue(keyOf(pipeline))
    for (const approval of this.#approvals.list()) this.controller.enqueue(pipelineKeyOf(approval))
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    // Without permission to read them there are no approvals and no freeze; a slow first list is waited for.
    const areKnown = [this.#freeze, this.#approvals].every(({ synced, lastError }) => synced || lastError)
    if (!this.#pipelines.synced || !areKnown) return settled
    const pipeline = this.#pipelines.get(key.namespace, key.name)
    return reconcilePipeline(keyToString(key), pipeline, { ports: this.#reconcilePorts(key), signal })
  }

  #reconcilePorts(key: Key): ReconcilePorts {
    const { client, events, ports, dryRun = false, resync = true } = this.#options
    return {
      client,
      clock: ports.clock,
      log: ports.log,
      events,
      metrics: this.#metrics,
      observer: this.observer,
      access: this.#access,
      secrets: this.#secrets,
      approvalsOf: ({ namespace, name }) => this.#approvals.byIndex('pipeline', `${namespace}/${name}`),
      runner: this.#runner,
      isFrozen: () => this.#isFrozen(),
      dryRun,
      resync,
      onWrite: ({ metadata }) => this.controller.expect(key, metadata.resourceVersion),
    }
  }

  #isFrozen(): boolean {
    const { data } = (this.#freeze.get(sojournNamespace, freezeName) ?? {}) as { data?: Record<string, string> }
    return data?.['promotions'] === 'frozen'
  }
}

function pipelineKeyOf({ metadata, spec }: Approval & StoredObject): Key {
  return keyOf({ ...pipelineKind, metadata: { namespace: metadata.namespace!, name: spec.pipeline } })
}
