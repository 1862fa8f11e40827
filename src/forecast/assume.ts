import { cleanupOptOut } from '../apis/cleanup-opt-out.ts'
import { pipeline as pipelineKind, type Pipeline } from '../apis/pipeline.ts'
import { administrator } from '../apiserver/server.ts'
import { ConfigError } from '../client/cluster-config.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import { apiVersionOf, groupResource, refOf, type ObjectRef, placeOf, type Place } from '../kube/object.ts'
import { tracked } from '../runtime/time/clock.ts'
import type { VirtualClock } from '../runtime/time/virtual-clock.ts'
import { approve } from '../systems/promoter/http/approve.ts'
import { planOf } from '../systems/promoter/model/plan.ts'
import { assumptionSentence, wordOf, type Assumption, type NamedThing } from './assumption.ts'
import type { Copy } from './copy.ts'
import type { ForecastEvent } from './event.ts'

export interface AssumePorts {
  readonly copy: Copy
  readonly clock: VirtualClock
  readonly record: (event: ForecastEvent) => void
  /** Something assumed could not be done; the forecast fails with it. */
  readonly onProblem: (problem: Error) => void
}

type Approved = Extract<Assumption, { assume: 'approved' }>

/** Does to the copy what people are assumed to do, each at its time. */
export function assume(assumptions: readonly Assumption[], ports: AssumePorts): void {
  for (const assumption of assumptions) {
    if (!('at' in assumption)) continue
    const carryOut = () =>
      tracked(ports.clock, () => fulfil(assumption, ports)).catch((error: unknown) =>
        ports.onProblem(
          new ConfigError(`it cannot be assumed that ${assumptionSentence(assumption)}: ${(error as Error).message}`),
        ),
      )
    ports.clock.after(assumption.at - ports.clock.now(), () => void carryOut())
  }
}

async function fulfil(assumption: Extract<Assumption, { at: number }>, ports: AssumePorts): Promise<void> {
  const { client } = ports.copy
  switch (assumption.assume) {
    case 'applied':
      for (const manifest of assumption.manifests) {
        const type = await client.discovery.typeOf(manifest)
        if (!type) throw new Error(`there is no kind ${manifest.kind} in ${manifest.apiVersion}`)
        const namespace = manifest.metadata.namespace ?? 'default'
        const placed = type.namespaced ? { ...manifest, metadata: { namespace, ...manifest.metadata } } : manifest
        await client.apply(type, placed, { force: true })
        say(ports, refOf(placed), `${assumption.from} is applied`)
      }
      return
    case 'deleted':
      return remove(assumption.thing, ports)
    case 'opted-out':
      return optOut(assumption.thing, ports)
    case 'approved':
      return approveFromNow(assumption, ports)
  }
}

function say({ clock, record }: AssumePorts, object: ObjectRef, why: string): void {
  record({ at: clock.now(), what: 'assumed', system: 'user', object, because: 'assumed', why })
}

async function find(thing: NamedThing, { copy: { client } }: AssumePorts) {
  const type = await client.discovery.find(thing.kind)
  if (!type) throw new Error(`there is no kind "${thing.kind}"`)
  const place = placeOf({ name: thing.name, namespace: type.namespaced ? (thing.namespace ?? 'default') : undefined })
  return { type, place, object: await client.get(type, place) }
}

/** As a person would, by the front door of the copy's own server. */
async function remove(thing: NamedThing, ports: AssumePorts): Promise<void> {
  const { type, place } = await find(thing, ports)
  const { objects, kinds } = ports.copy.server
  const served = kinds.find(type)
  if (!served) throw new Error(`there is no kind "${thing.kind}"`)
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }
  await objects.delete({ type: served, ...place, user: administrator, body })
  say(ports, refFor(type, place), 'somebody deletes it')
}

async function optOut(thing: NamedThing, ports: AssumePorts): Promise<void> {
  const { type, place } = await find(thing, ports)
  const resource = refFor(type, place)
  await ports.copy.client.apply(
    cleanupOptOut.type,
    {
      apiVersion: cleanupOptOut.apiVersion,
      kind: cleanupOptOut.kind,
      metadata: { name: `assumed.${wordOf(thing).toLowerCase().replaceAll('/', '.')}` },
      spec: { resource, reason: 'assumed by a forecast' },
    },
    { force: true },
  )
  say(ports, resource, 'its owner opts out')
}

function refFor(type: DiscoveredType, place: Place): ObjectRef {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...place }
}

/** Whatever waits there now or later is approved at once, by as many as it needs. */
async function approveFromNow(assumption: Approved, ports: AssumePorts): Promise<void> {
  const { copy, clock } = ports
  const place = { namespace: assumption.namespace, name: assumption.pipeline }
  const given = new Set<string>()
  const give = async () => {
    const pipeline = await copy.client.get<Pipeline>(pipelineKind.type, place)
    const waiting = pipeline.status?.environments?.[assumption.environment]?.waitingApproval
    if (!waiting?.promotionId || given.has(waiting.promotionId)) return
    given.add(waiting.promotionId)
    say(ports, refOf(pipeline), `${waiting.revision} is approved for ${assumption.environment}`)
    for (const approver of approversOf(pipeline, assumption.environment, waiting.required ?? 1)) {
      const { promotionId } = waiting
      const request = { environment: assumption.environment, promotionId, decision: 'Approve', approver } as const
      await approve(copy.client, place, { request, clock })
    }
  }
  copy.store.subscribe((changes) => {
    const isIts = changes.some(
      ({ resource, namespace, name }) =>
        resource === groupResource(pipelineKind.type) && namespace === place.namespace && name === place.name,
    )
    if (isIts) void tracked(clock, give).catch(ports.onProblem)
  })
  await give()
}

function approversOf({ spec, metadata }: Pipeline, environment: string, required: number): readonly string[] {
  const plan = planOf(spec, metadata.namespace ?? '').environments.find(({ name }) => name === environment)
  const named = plan?.promotion?.approvers
  return named?.slice(0, required) ?? Array.from({ length: required }, (_, index) => `assumed-${index + 1}`)
}
