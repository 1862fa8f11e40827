import { namespaces } from '../../../kube/core-types.ts'
import { createHash } from 'node:crypto'
import { bond, type Bond } from '../../../apis/bond.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { ownLabel, removeOwn } from '../../../departures/subjects/own-machinery.ts'
import type { Key } from '../../../kube/key.ts'
import { apiVersionOf, type KubeObject, type StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import { settled, type Outcome } from '../../../runtime/controller/outcome.ts'
import { dependsOnAnnotation, parseDependsOn, type DependsOnReference } from './depends-on.ts'
import type { ClusterWatch } from '../watch/cluster-watch.ts'

export interface DependsOnOptions {
  readonly client: Client
  readonly informers: Informers
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  readonly world: ClusterWatch
  /** Whether a namespace must ask for it by label: elsewhere the annotation is an applier's word for an order, no more. Defaults to false. */
  readonly onlyWhereAsked?: boolean
}

/** On a namespace: the annotation binds there as a Bond does. */
export const dependsOnLabel = 'sojourn.dev/depends-on'
/** On a Bond that stands for an annotation: the uid of the object that carries it. */
const dependentLabel = 'sojourn.dev/dependent-uid'

/** Keeps one Bond for each reference of a `depends-on` annotation, for as long as its object carries it. */
export function dependsOnController(options: DependsOnOptions): Controller {
  const { client, informers, events, ports, world, onlyWhereAsked = false } = options
  const bonds = informers.open<Bond>(client, bond.type, { indexes: { dependent: dependentUid } })
  const spaces = informers.open(client, namespaces, { metadataOnly: true })
  const controller = new Controller({ name: 'depends-on', reconcile, ports, concurrency: 4 })
  controller.watch(bonds, ({ object }) => dependentUid(object).map(keyOfUid))
  if (onlyWhereAsked) controller.watch(spaces, ({ object }) => annotatedIn(object.metadata.name))
  world.subscribe(({ object, initial }) => {
    const { uid } = object.metadata
    if (isAnnotated(object) || bonds.byIndex('dependent', uid).length > 0)
      controller.enqueue(keyOfUid(uid), initial ? 'initial' : 'change')
  })
  return controller

  async function reconcile({ name: uid }: Key): Promise<Outcome> {
    const node = world.graph.find(uid)
    const object = node === undefined ? undefined : world.graph.object(node)
    const present = bonds.byIndex('dependent', uid)
    const wanted = object ? wantedFor(object) : []
    // Not readable is not empty: what stands, stands.
    if (!wanted) return settled
    const names = new Set(wanted.map(({ metadata }) => metadata.name))
    for (const manifest of wanted)
      if (!present.some(({ metadata }) => metadata.name === manifest.metadata.name))
        await client.create(bond.type, manifest).catch(ignoring('AlreadyExists', 'NotFound', 'Forbidden'))
    for (const found of present)
      if (!names.has(found.metadata.name) && !found.metadata.deletionTimestamp)
        await removeOwn(client, bond.type, found)
    return settled
  }

  function wantedFor(object: StoredObject): readonly KubeObject[] | undefined {
    // While it leaves it still needs what it needed.
    if (object.metadata.deletionTimestamp) return undefined
    const text = object.metadata.annotations?.[dependsOnAnnotation]
    if (text === undefined || !isAsked(object)) return []
    const references = parseDependsOn(text)
    if (typeof references !== 'string') return references.map((reference) => bondFor(object, reference, world))
    events.record(object, {
      type: 'Warning',
      reason: 'InvalidDependsOn',
      message: `${dependsOnAnnotation}: ${references}`,
    })
    return undefined
  }

  function isAsked({ metadata }: StoredObject): boolean {
    if (!onlyWhereAsked) return true
    const home = metadata.namespace ?? sojournNamespace
    return spaces.get('', home)?.metadata.labels?.[dependsOnLabel] === 'cascade'
  }

  function annotatedIn(namespace: string): readonly Key[] {
    const keys: Key[] = []
    const { graph } = world
    for (let node = 0; node < graph.capacity; node++) {
      const object = graph.object(node)
      if (object?.metadata.namespace === namespace && isAnnotated(object)) keys.push(keyOfUid(object.metadata.uid))
    }
    return keys
  }
}

function isAnnotated({ metadata }: StoredObject): boolean {
  return metadata.annotations?.[dependsOnAnnotation] !== undefined
}

function dependentUid({ metadata }: Bond): readonly string[] {
  const uid = metadata.labels?.[dependentLabel]
  return uid === undefined ? [] : [uid]
}

/** By uid: another object under the same name has Bonds of its own. */
function keyOfUid(uid: string): Key {
  return { cluster: '', kind: 'uid', namespace: '', name: uid }
}

function bondFor(
  { apiVersion, kind, metadata }: StoredObject,
  reference: DependsOnReference,
  world: ClusterWatch,
): KubeObject {
  const { group, namespace, name } = reference
  const type = world.types.find((served) => served.group === group && served.kind === reference.kind)
  // A kind that is not served yet may come; until then the Bond says in its conditions that it is missing.
  const version = type ? apiVersionOf(type) : group ? `${group}/v1` : 'v1'
  const digest = createHash('sha256')
    .update(`${metadata.uid} ${JSON.stringify(reference)}`)
    .digest('hex')
    .slice(0, 12)
  return {
    apiVersion: bond.apiVersion,
    kind: bond.kind,
    metadata: {
      name: `depends-on-${digest}`,
      namespace: metadata.namespace ?? sojournNamespace,
      labels: { ...ownLabel, [dependentLabel]: metadata.uid },
    },
    spec: {
      dependent: { apiVersion, kind, name: metadata.name },
      dependency: { apiVersion: version, kind: reference.kind, ...(namespace ? { namespace } : {}), name },
      onDelete: 'Cascade',
      reason: `annotation ${dependsOnAnnotation}`,
    },
  }
}
