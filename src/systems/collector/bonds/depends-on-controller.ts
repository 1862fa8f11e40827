import { namespaces } from '../../../kube/core-types.ts'
import { createHash } from 'node:crypto'
import { bond, dependsOnAnnotation, type Bond } from '../../../apis/bond.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import { ownLabel, removeOwn } from '../../../departures/subjects/own-machinery.ts'
import type { Key } from '../../../kube/key.ts'
import { apiVersionOf, type KubeObject, type StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { Controller, type ClusterPorts } from '../../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import { settled, type Outcome } from '../../../runtime/controller/outcome.ts'
import type { ClusterWatch } from '../watch/cluster-watch.ts'

export interface DependsOnOptions extends ClusterPorts {
  readonly events: EventRecorder
  readonly world: ClusterWatch
  /** Whether a namespace must opt in by label. On a real cluster other tools use the annotation for the order of applying only. Defaults to false. */
  readonly needsOptIn?: boolean
}

/** On a namespace: opts in to Bonds for the annotation. */
const dependsOnLabel = 'sojourn.dev/depends-on'
/** On a Bond made for an annotation: the uid of the annotated object. */
const dependentLabel = 'sojourn.dev/dependent-uid'

/** Keeps one Bond for each reference in a `depends-on` annotation, as long as its object carries it. */
export function dependsOnController(options: DependsOnOptions): Controller {
  const { client, informers, events, ports, world, needsOptIn = false } = options
  const bonds = informers.open<Bond>(client, bond.type, { indexes: { dependent: dependentUid } })
  const spaces = informers.open(client, namespaces, { metadataOnly: true })
  const controller = new Controller({ name: 'depends-on', reconcile, ports, concurrency: 4 })
  controller.watch(bonds, ({ object }) => dependentUid(object).map(keyOfUid))
  if (needsOptIn) controller.watch(spaces, ({ object }) => annotatedIn(object.metadata.name))
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
    // An annotation that cannot be parsed changes nothing.
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
    // An object that is being deleted still needs its dependencies.
    if (object.metadata.deletionTimestamp) return undefined
    const text = object.metadata.annotations?.[dependsOnAnnotation]
    if (text === undefined || !isOptedIn(object)) return []
    const references = parseDependsOn(text)
    if (typeof references !== 'string') return references.map((reference) => bondFor(object, reference, world))
    events.record(object, {
      type: 'Warning',
      reason: 'InvalidDependsOn',
      message: `${dependsOnAnnotation}: ${references}`,
    })
    return undefined
  }

  function isOptedIn({ metadata }: StoredObject): boolean {
    if (!needsOptIn) return true
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

/** Keyed by uid: a new object under the same name has Bonds of its own. */
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
  // The kind may be installed later; until then the Bond's condition says that it is missing.
  const version = type ? apiVersionOf(type) : group ? `${group}/v1` : 'v1'
  const digest = createHash('sha256')
    .update(`${metadata.uid} ${JSON.stringify(reference)}`)
    .digest('hex')
    .slice(0, 12)
  return bond.object(
    {
      name: `depends-on-${digest}`,
      namespace: metadata.namespace ?? sojournNamespace,
      labels: { ...ownLabel, [dependentLabel]: metadata.uid },
    },
    {
      dependent: { apiVersion, kind, name: metadata.name },
      dependency: { apiVersion: version, kind: reference.kind, ...(namespace ? { namespace } : {}), name },
      onDelete: 'Cascade',
      reason: `annotation ${dependsOnAnnotation}`,
    },
  )
}

/** What one reference of the annotation means: a kind by its group, without a version. */
export interface DependsOnReference {
  readonly group: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/**
 * Parses the annotation: `group/namespaces/NAMESPACE/Kind/name` or, for cluster-scoped objects, `group/Kind/name`; the core group is empty, so that
 * its references begin with a slash. Returns an error message when a part of it is not a reference.
 */
function parseDependsOn(text: string): readonly DependsOnReference[] | string {
  const references: DependsOnReference[] = []
  for (const part of text.split(',').map((piece) => piece.trim())) {
    const reference = parseReference(part)
    if (!reference)
      return `"${part}" is not a reference: it must be GROUP/namespaces/NAMESPACE/KIND/NAME or GROUP/KIND/NAME`
    references.push(reference)
  }
  return references
}

function parseReference(text: string): DependsOnReference | undefined {
  const parts = text.split('/')
  if (parts.slice(1).some((part) => part === '')) return undefined
  if (parts.length === 3) {
    const [group = '', kind = '', name = ''] = parts
    return { group, kind, name }
  }
  const [group = '', word, namespace = '', kind = '', name = ''] = parts
  return parts.length === 5 && word === 'namespaces' ? { group, kind, namespace, name } : undefined
}
