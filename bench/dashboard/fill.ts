import { dashboardObjects, type DashboardWorld } from '../../test/e2e/dashboard/dashboard-world.ts'
import type { KubeObject } from '../../src/kube/object.ts'

/** How many of each kind make up ten thousand objects in a stay. */
const shares = { Cleaner: 0.35, CleanupCandidate: 0.35, Service: 0.15, Pipeline: 0.1, Bond: 0.05 }
const departures = 2000
const atOnce = 32

/** Puts so many objects in a stay into the world, each with the status its system would give it, and records of some that left. */
export async function fill(world: DashboardWorld, stays: number): Promise<void> {
  const [namespace] = dashboardObjects()
  if (namespace) await world.create(namespace)
  const objects = Object.entries(shares).flatMap(([kind, share]) =>
    Array.from({ length: Math.round(stays * share) }, (_, index) => make(kind, index)).flat(),
  )
  objects.push(...Array.from({ length: departures }, (_, index) => departure(index)))
  const next = objects.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const object of next) await world.create(object)
    }),
  )
}

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+Z$/, 'Z')
const template = new Map(dashboardObjects().map((object) => [object.kind, object]))

function make(kind: string, index: number): readonly KubeObject[] {
  const known = template.get(kind)
  const name = `${kind.toLowerCase()}-${index}`
  if (kind === 'Bond') return [bond(name)]
  if (!known) throw new Error(`no ${kind} to copy`)
  const copy: KubeObject = { ...known, metadata: { ...known.metadata, name } }
  if (kind === 'Cleaner') return [{ ...copy, spec: { ttl: '720h' }, status: notExpired(index) }]
  if (kind === 'CleanupCandidate') return [candidate(copy, index)]
  if (kind !== 'Service') return [copy]
  const annotations = { 'proxless/deployment': name, 'proxless/domains': `${name}.example.test` }
  const deployment = template.get('Deployment')!
  return [
    { ...deployment, metadata: { ...deployment.metadata, name } },
    { ...copy, metadata: { ...copy.metadata, annotations } },
  ]
}

function notExpired(index: number): object {
  const at = inMinutes(60 + index)
  const message = `its time is up at ${at}`
  const condition = { type: 'Ready', status: 'False', reason: 'NotExpired', message, lastTransitionTime: inMinutes(0) }
  return { nextScheduledEvaluation: at, conditions: [condition] }
}

function candidate(copy: KubeObject, index: number): KubeObject {
  const { resource } = copy.spec as { resource: object }
  const spec = { ...(copy.spec as object), resource: { ...resource, name: `report-${index}`, uid: `uid-${index}` } }
  return { ...copy, spec, status: { ...(copy.status as object), projectedDeletionTime: inMinutes(index) } }
}

function bond(name: string): KubeObject {
  const of = (what: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: what })
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { name, namespace: 'team' },
    spec: { dependent: of(`${name}-a`), dependency: of(`${name}-b`), onDelete: 'Hold' },
  }
}

function departure(index: number): KubeObject {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'team',
    name: `gone-${index}`,
    uid: `gone-${index}`,
    resourceVersion: '1',
  }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Departure',
    metadata: { name: `configmap-gone-${index}`, namespace: 'team' },
    spec: {
      object,
      because: 'expired',
      by: { system: 'cleaner' },
      recordedAt: inMinutes(-index),
      manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: object.name } },
    },
    status: { phase: 'Gone', goneAt: inMinutes(-index) },
  }
}
