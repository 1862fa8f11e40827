import { cleanupOptOut } from '../apis/cleanup-opt-out.ts'
import { pipeline as pipelineKind, type Pipeline } from '../apis/pipeline.ts'
import { administrator } from '../apiserver/server.ts'
import { ConfigError } from '../client/cluster-config.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import { apiVersionOf, groupResource, refOf, type ObjectRef, placeOf, type Place } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { tracked } from '../runtime/time/clock.ts'
import type { VirtualClock } from '../runtime/time/virtual-clock.ts'
import { approve } from '../systems/promoter/http/approve.ts'
import { environmentPlanOf } from '../systems/promoter/model/plan.ts'
import { assumptionSentence, pathOf, type Assumption, type TypedName } from './assumption.ts'
import type { ClusterCopy } from './cluster-snapshot.ts'
import type { ForecastEvent } from './event.ts'

export interface AssumePorts {
  readonly copy: ClusterCopy
  readonly clock: VirtualClock
  readonly record: (event: ForecastEvent) => void
  /** Called when an assumption cannot be carried out; the forecast then fails with this error. */
  readonly onProblem: (problem: Error) => void
}

type Approved = Extract<Assumption, { assume: 'approved' }>

/** Schedules the assumed user actions: each is carried out on the copy when the virtual clock reaches its time. */
export function scheduleAssumptions(assumptions: readonly Assumption[], ports: AssumePorts): void {
  for (const assumption of assumptions) {
    if (!('at' in assumption)) continue
    const attempt = () =>
      tracked(ports.clock, () => carryOut(assumption, ports)).catch((error: unknown) =>
        ports.onProblem(
          new ConfigError(`cannot assume that ${assumptionSentence(assumption)}: ${(error as Error).message}`),
        ),
      )
    ports.clock.after(assumption.at - ports.clock.now(), () => void attempt())
  }
}

async function carryOut(assumption: Extract<Assumption, { at: number }>, ports: AssumePorts): Promise<void> {
  const { client } = ports.copy
  switch (assumption.assume) {
    case 'applied':
      for (const manifest of assumption.manifests) {
        const type = await client.discovery.typeOf(manifest)
        if (!type) throw new Error(`there is no kind ${manifest.kind} in ${manifest.apiVersion}`)
        const namespace = manifest.metadata.namespace ?? 'default'
        const placed = type.namespaced ? { ...manifest, metadata: { namespace, ...manifest.metadata } } : manifest
        await client.apply(type, placed, { force: true })
        recordAssumed(ports, refOf(placed), `${assumption.from} is applied`)
      }
      return
    case 'deleted':
      return deleteAsUser(assumption.target, ports)
    case 'opted-out':
      return optOut(assumption.target, ports)
    case 'approved':
      return approveFromNow(assumption, ports)
  }
}

function recordAssumed({ clock, record }: AssumePorts, object: ObjectRef, why: string): void {
  record({ at: clock.now(), what: 'assumed', system: 'user', object, because: 'assumed', why })
}

async function find(target: TypedName, { copy: { client } }: AssumePorts) {
  const types = await client.discovery.findAll(target.kind)
  const { kind, name, namespace = 'default' } = target
  // Several groups may have a kind of this name.
  for (const type of types) {
    const place = placeOf({ name, namespace: type.namespaced ? namespace : undefined })
    const object = await client.get(type, place).catch(ignoring('NotFound'))
    if (object) return { type, place, object }
  }
  throw new Error(types.length === 0 ? `there is no kind "${kind}"` : `there is no ${kind} "${name}"`)
}

/** Deletes through the copy's API server, as a user with `kubectl delete` would, so that admission and cascades apply. */
async function deleteAsUser(target: TypedName, ports: AssumePorts): Promise<void> {
  const { type, place } = await find(target, ports)
  const { objects, kinds } = ports.copy.server
  const served = kinds.find(type)
  if (!served) throw new Error(`there is no kind "${target.kind}"`)
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }
  await objects.delete({ type: served, ...place, user: administrator, body })
  recordAssumed(ports, refFor(type, place), 'a user deletes it')
}

async function optOut(target: TypedName, ports: AssumePorts): Promise<void> {
  const { type, place } = await find(target, ports)
  const resource = refFor(type, place)
  await ports.copy.client.apply(
    cleanupOptOut.type,
    cleanupOptOut.object(
      { name: `assumed.${pathOf(target).toLowerCase().replaceAll('/', '.')}` },
      { resource, reason: 'assumed by a forecast' },
    ),
    { force: true },
  )
  recordAssumed(ports, resource, 'its owner opts out')
}

function refFor(type: DiscoveredType, place: Place): ObjectRef {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...place }
}

/** Approves every promotion that waits in the environment, now or later, with as many approvers as it requires. */
async function approveFromNow(assumption: Approved, ports: AssumePorts): Promise<void> {
  const { copy, clock } = ports
  const place = { namespace: assumption.namespace, name: assumption.pipeline }
  const approved = new Set<string>()
  const approveWaiting = async () => {
    const pipeline = await copy.client.get<Pipeline>(pipelineKind.type, place)
    const waiting = pipeline.status?.environments?.[assumption.environment]?.waitingApproval
    if (!waiting?.promotionId || approved.has(waiting.promotionId)) return
    approved.add(waiting.promotionId)
    recordAssumed(ports, refOf(pipeline), `${waiting.revision} is approved for ${assumption.environment}`)
    for (const approver of approversOf(pipeline, assumption.environment, waiting.required ?? 1)) {
      const { promotionId } = waiting
      const request = { environment: assumption.environment, promotionId, decision: 'Approve', approver } as const
      await approve(copy.client, place, { request, clock })
    }
  }
  copy.store.subscribe((changes) => {
    const isThisPipeline = changes.some(
      ({ resource, namespace, name }) =>
        resource === groupResource(pipelineKind.type) && namespace === place.namespace && name === place.name,
    )
    if (isThisPipeline) void tracked(clock, approveWaiting).catch(ports.onProblem)
  })
  await approveWaiting()
}

function approversOf(pipeline: Pipeline, environment: string, required: number): readonly string[] {
  const named = environmentPlanOf(pipeline, environment)?.promotion?.approvers
  return named?.slice(0, required) ?? Array.from({ length: required }, (_, index) => `assumed-${index + 1}`)
}
