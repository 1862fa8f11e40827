import { configMaps, events, secrets } from '../../kube/core-types.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { approval as approvalKind, type Approval } from '../../apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../apis/pipeline.ts'
import type { Client } from '../../client/client.ts'
import { keyFromString, keyOf, keyToString } from '../../kube/key.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Clusters } from '../../runtime/clusters/clusters.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { settled } from '../../runtime/controller/outcome.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import type { ActPorts } from './effects/act.ts'
import { markerValue } from './model/adapter.ts'
import { ForgeBudget } from '../../forges/budget.ts'
import { EffectRunner, type RunnerPorts } from './effects/effect-runner.ts'
import { networkHttp, type Http } from '../../runtime/http/http.ts'
import { TargetObserver, type ObservePorts } from './targets/observe.ts'
import { promoterMetrics } from './effects/promoter-metrics.ts'
import { previewPipeline, reconcilePipeline } from './reconcile.ts'
import type { SecretData } from './repository/repository-access.ts'
import { promoterRoutes, type Route } from './http/routes.ts'
import { SecretVersions } from './targets/secret-versions.ts'

export interface PromoterOptions {
  readonly client: Client
  readonly informers: Informers
  readonly clusters: Clusters
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** Where Flux's notification controller takes events. Defaults to nowhere. */
  readonly eventsAddress?: string
  /** Decide and report everything, do nothing outside. Defaults to false. */
  readonly dryRun?: boolean
  /** How forges are reached. Defaults to the network. */
  readonly http?: Http
  /** Carries effects out. Defaults to the real thing. */
  readonly perform?: RunnerPorts['perform']
  /** What is made of what is seen of a target. Defaults to itself. */
  readonly seenAs?: ObservePorts['seenAs']
  /** Defaults to 8. */
  readonly concurrency?: number
  /** Look again now and then though nothing has changed. Defaults to true. */
  readonly resync?: boolean
}

/** The promoter: its controller, its HTTP routes, and what ends with it. */
export interface Promoter {
  readonly controller: Controller
  readonly routes: readonly Route[]
  readonly observer: TargetObserver
  readonly runner: EffectRunner
  readonly close: () => void
}

/** The ConfigMap that stops all promotions everywhere while its `promotions` is `frozen`. */
export const freezeName = 'freeze'

/** Builds the promoter on a cluster. It acts once its controller is started. */
export function createPromoter(options: PromoterOptions): Promoter {
  const { client, informers, clusters, events: recorder, ports } = options
  const { clock, log, random = systemRandom } = ports
  const { dryRun = false } = options
  const metrics = promoterMetrics(ports.metrics)
  const network = options.http ? undefined : networkHttp()
  const stopping = new AbortController()
  const pipelines = informers.open<Pipeline & StoredObject>(client, pipelineKind.type)
  const freeze = informers.open(client, configMaps, {
    namespace: sojournNamespace,
    fieldSelector: `metadata.name=${freezeName}`,
  })
  const approvals = informers.open<Approval & StoredObject>(client, approvalKind.type, {
    indexes: { pipeline: ({ metadata, spec }) => [`${metadata.namespace}/${spec.pipeline}`] },
  })
  const approvalsOf = ({ namespace, name }: { readonly namespace?: string; readonly name: string }) =>
    approvals.byIndex('pipeline', `${namespace}/${name}`)
  const enqueue = (keys: Iterable<string>) => {
    for (const key of keys) controller.enqueue(keyFromString(key))
  }
  const observer = new TargetObserver({
    clusters,
    clock,
    changed: enqueue,
    ...(options.seenAs ? { seenAs: options.seenAs } : {}),
  })
  const secretVersions = new SecretVersions({ informers, client, changed: (key) => enqueue([key]) })
  const readSecret = secretReader(client)
  const actPorts: ActPorts = {
    http: metrics.counted(options.http ?? network!.http),
    budget: new ForgeBudget({
      now: () => clock.now(),
      left: (host, requests) => metrics.budgetLeft.set({ host }, requests),
    }),
    heard: (request) => metrics.requests.inc(request),
    known: new Map(),
    secret: readSecret,
    createEvent: async (event) => void (await client.create(events, event).catch(ignoring('AlreadyExists'))),
    eventsAddress: options.eventsAddress,
    now: () => clock.now(),
    valueOf: markerValue,
  }
  const runner = new EffectRunner({
    client,
    act: actPorts,
    ...(options.perform ? { perform: options.perform } : {}),
    clock,
    random,
    log,
    events: recorder,
    metrics,
    ended: (pipeline) => controller.enqueue(keyOf(pipeline as KubeObject)),
    signal: stopping.signal,
  })
  const isFrozen = () =>
    (freeze.get(sojournNamespace, freezeName) as { data?: Record<string, string> } | undefined)?.data?.[
      'promotions'
    ] === 'frozen'
  const controller: Controller = new Controller({
    name: 'promoter',
    ports,
    concurrency: options.concurrency ?? 8,
    reconcile: async (key, signal) => {
      if (!pipelines.synced || ![freeze, approvals].every(({ synced, trouble }) => synced || trouble)) return settled
      const written = (pipeline: Pipeline) => controller.expect(key, pipeline.metadata.resourceVersion)
      const { resync = true } = options
      const reconcilePorts = {
        client,
        clock,
        log,
        events: recorder,
        metrics,
        observer,
        secrets: secretVersions,
        approvals: approvalsOf,
        runner,
        isFrozen,
        dryRun,
        resync,
        written,
      }
      return reconcilePipeline(keyToString(key), pipelines.get(key.namespace, key.name), reconcilePorts, signal)
    },
  })
  controller.watch(pipelines)
  const approved = ({ metadata, spec }: Approval & StoredObject) =>
    keyOf({ ...pipelineKind, metadata: { namespace: metadata.namespace!, name: spec.pipeline } })
  const lookAtAll = () => {
    for (const pipeline of pipelines.list()) controller.enqueue(keyOf(pipeline))
    // Their pipeline may be gone.
    for (const approval of approvals.list()) controller.enqueue(approved(approval))
  }
  freeze.subscribe(lookAtAll)
  approvals.subscribe(({ object }) => controller.enqueue(approved(object), 'user'))
  for (const informer of [freeze, approvals]) informer.onTrouble(lookAtAll)
  for (const informer of [pipelines, freeze, approvals]) informer.whenSynced().then(lookAtAll, () => {})
  const routes = promoterRoutes({
    client,
    clock,
    secret: readSecret,
    counted: (result) => metrics.approvals.inc({ result }),
    hint: (pipeline) => {
      const promotions = Object.values(pipeline.status?.environments ?? {}).flatMap(
        ({ promotion }) => promotion?.id ?? [],
      )
      runner.forgetPolls(promotions)
      controller.enqueue(keyOf(pipeline as KubeObject), 'user')
    },
    preview: (pipeline) =>
      previewPipeline(keyToString(keyOf(pipeline as KubeObject)), pipeline, {
        observer,
        isFrozen,
        dryRun,
        runner,
        approvals: approvalsOf,
        clock,
      }),
  })
  return {
    controller,
    routes,
    observer,
    runner,
    close: () => {
      stopping.abort(new Error('stopping'))
      observer.close()
      secretVersions.close()
      freeze.close()
      approvals.close()
      pipelines.close()
      network?.close()
    },
  }
}

/** Reads a Secret when it is needed and keeps nothing of it. */
function secretReader(
  client: Client,
): (place: { readonly namespace: string; readonly name: string }) => Promise<SecretData | undefined> {
  return async (place) => {
    const secret = await client
      .get<StoredObject & { readonly data?: Record<string, string> }>(secrets, place)
      .catch(ignoring('NotFound'))
    return (
      secret &&
      Object.fromEntries(
        Object.entries(secret.data ?? {}).map(([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')]),
      )
    )
  }
}
