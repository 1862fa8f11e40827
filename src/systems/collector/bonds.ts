import { bond, type Bond } from '../../apis/bond.ts'
import type { Client } from '../../client/client.ts'
import { sentenceOf } from '../../departures/because.ts'
import type { Door } from '../../departures/door.ts'
import { kubeSubject } from '../../departures/subject.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import { refOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { formatSelector, requirementsOf } from '../../kube/selector.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { setCondition } from '../../runtime/conditions.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Informer } from '../../runtime/informer.ts'
import type { Informers } from '../../runtime/informers.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/outcome.ts'
import { decideBond, type BondDecision, type DependencyFact, type DependentsFact } from './bond-decide.ts'

export interface BondOptions {
  /** Where the Bonds are. */
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
}

/** Put on what a Bond needs, so that it waits for those who need it. */
export const holdFinalizer = 'sojourn.dev/cascade-deletion'
/** The seed's own word for it, which the embedded server sets on DELETE. */
export const seedFinalizer = 'cascade_deletion'
/** On a namespace (or a cluster-scoped object): whose Bonds may hold up deletions here. */
export const grantAnnotation = 'sojourn.dev/allow-bonds-from'

/** Looks after Bonds: pins, holds, lets follow, lets go. */
export function bondController({ client, informers, door, events, ports, clusterClient }: BondOptions): Controller {
  const bonds = informers.open<Bond>(client, bond.type)
  const namespaceInformer = informers.open(client, namespaces, { metadataOnly: true })
  const controller = new Controller({ name: 'bonds', reconcile, ports, concurrency: 8 })
  /** Caches of the kinds that Bonds speak of in this cluster, and who speaks of them. */
  const watched = new Map<string, Informer>()
  controller.watch(bonds)
  controller.watch(namespaceInformer, ({ object, initial }) =>
    initial
      ? []
      : bonds
          .list()
          .filter(({ spec }) => spec.dependency.namespace === object.metadata.name)
          .map((found) => keyOf(found)),
  )
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const self = bonds.get(key.namespace, key.name)
    if (!self) return settled
    const dependents = await observeDependents(self)
    const { fact: dependency, object, type, home } = await observeDependency(self)
    const decision = decideBond({
      spec: self.spec,
      isMarked: self.metadata.deletionTimestamp !== undefined,
      pinnedUid: self.spec.dependency.uid ?? self.status?.dependencyUid,
      dependency,
      dependents,
      isGranted: await isGranted(self, object),
    })
    await writeStatus(key, self, decision, dependents)
    if (decision.effect === 'hold-dependency' && object && type)
      await setFinalizers(home, type, object, [...(object.metadata.finalizers ?? []), holdFinalizer])
    if (decision.effect === 'release-dependency' && object && type) await letGo(key, { home, type, object })
    if (decision.effect === 'remove-dependents' && dependents.are === 'known')
      return removeDependents(self, dependents.objects)
    return decision.retry ? wakeAt(ports.clock.now() + 15_000) : settled
  }

  async function observeDependents({ spec, metadata }: Bond): Promise<DependentsFact> {
    const { apiVersion, kind, name, selector } = spec.dependent
    if (name === undefined && selector === undefined)
      return { are: 'unknown', reason: 'InvalidSpec', message: 'spec.dependent needs a name or a selector' }
    try {
      const type = await client.discovery.typeOf({ apiVersion, kind })
      if (!type)
        return {
          are: 'unknown',
          reason: 'KindNotFound',
          message: `spec.dependent: no ${kind} in ${apiVersion} is served`,
        }
      watch(type)
      const scope = type.namespaced ? { namespace: metadata.namespace ?? '' } : {}
      if (name !== undefined) {
        const found = await client
          .get<StoredObject>(type, { ...scope, name }, { metadataOnly: true })
          .catch(ignoring('NotFound'))
        return { are: 'known', objects: found ? [{ ...found, apiVersion, kind: type.kind }] : [] }
      }
      const objects: StoredObject[] = []
      for await (const page of client.listAll(type, {
        ...scope,
        labelSelector: formatSelector(requirementsOf(selector ?? {})),
        metadataOnly: true,
      })) {
        for (const item of page.items) objects.push({ ...item, apiVersion, kind: type.kind })
      }
      return { are: 'known', objects }
    } catch (error) {
      return { are: 'unknown', ...unknownBecause(error, 'spec.dependent') }
    }
  }

  async function observeDependency({
    spec,
    metadata,
  }: Bond): Promise<{ fact: DependencyFact; object?: StoredObject; type?: ResourceType; home: Client }> {
    const { cluster = '', apiVersion, kind, name } = spec.dependency
    const home = cluster === '' ? client : clusterClient?.(cluster)
    if (!home)
      return {
        fact: { is: 'unknown', reason: 'ClusterUnreachable', message: `cluster "${cluster}" cannot be reached` },
        home: client,
      }
    try {
      const type = await home.discovery.typeOf({ apiVersion, kind })
      if (!type)
        return {
          fact: {
            is: 'unknown',
            reason: 'KindNotFound',
            message: `spec.dependency: no ${kind} in ${apiVersion} is served`,
          },
          home,
        }
      if (home === client) watch(type)
      const namespace = type.namespaced ? (spec.dependency.namespace ?? metadata.namespace ?? '') : ''
      const found = await home
        .get<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) }, { metadataOnly: true })
        .catch(ignoring('NotFound'))
      if (!found) return { fact: { is: 'absent' }, home }
      const { uid, deletionTimestamp, finalizers = [] } = found.metadata
      const holdsFinalizer = finalizers.includes(holdFinalizer) || finalizers.includes(seedFinalizer)
      return {
        fact: { is: 'present', uid, isMarked: deletionTimestamp !== undefined, holdsFinalizer },
        object: found,
        type,
        home,
      }
    } catch (error) {
      return { fact: { is: 'unknown', ...unknownBecause(error, 'spec.dependency') }, home }
    }
  }

  /** In its own namespace a Bond needs no leave; elsewhere the namespace's owner must have given it. */
  async function isGranted({ spec, metadata }: Bond, object: StoredObject | undefined): Promise<boolean> {
    if (!object || spec.dependency.cluster) return false
    const there = object.metadata.namespace
    if (there === metadata.namespace) return true
    const grantor = there
      ? await client.get<StoredObject>(namespaces, { name: there }).catch(ignoring('NotFound', 'Forbidden'))
      : object
    const allowed = (grantor?.metadata.annotations?.[grantAnnotation] ?? '').split(',').map((name) => name.trim())
    return allowed.includes('*') || allowed.includes(metadata.namespace ?? '')
  }

  async function removeDependents(self: Bond, objects: readonly StoredObject[]): Promise<Outcome> {
    let again: number | undefined
    for (const object of objects) {
      if (object.metadata.deletionTimestamp) continue
      const type = await client.discovery.typeOf(object)
      if (!type) continue
      const answer = await door.depart({
        subject: kubeSubject(client, type, refOf(object)),
        uid: object.metadata.uid,
        because: 'requirement-gone',
        by: { system: 'collector', object: refOf(self) },
      })
      if (answer.result === 'held') again = Math.min(again ?? Infinity, answer.until ?? ports.clock.now() + 60_000)
      if (answer.result === 'refused')
        events.record(self, {
          type: 'Warning',
          reason: 'DependentSpared',
          message: `${object.kind} ${object.metadata.name} stays: ${sentenceOf(answer)}`,
        })
    }
    return again === undefined ? wakeAt(ports.clock.now() + 5000) : wakeAt(again)
  }

  /** The last Bond that holds an object lets it go. */
  async function letGo(
    key: Key,
    { home, type, object }: { home: Client; type: ResourceType; object: StoredObject },
  ): Promise<void> {
    const others = bonds
      .list()
      .some(
        (other) =>
          !(other.metadata.namespace === key.namespace && other.metadata.name === key.name) &&
          other.status?.dependencyUid === object.metadata.uid &&
          other.status.phase !== 'Released' &&
          (other.status.dependents ?? 0) > 0 &&
          other.spec.onDelete !== 'Orphan',
      )
    if (others) return
    await setFinalizers(
      home,
      type,
      object,
      (object.metadata.finalizers ?? []).filter(
        (finalizer) => finalizer !== holdFinalizer && finalizer !== seedFinalizer,
      ),
    )
  }

  async function setFinalizers(
    home: Client,
    type: ResourceType,
    { metadata }: StoredObject,
    finalizers: readonly string[],
  ): Promise<void> {
    const { name, namespace, resourceVersion } = metadata
    await home
      .patch(
        type,
        { name, ...(namespace ? { namespace } : {}) },
        { type: 'merge', body: { metadata: { resourceVersion, finalizers } } },
      )
      .catch(ignoring('NotFound'))
  }

  async function writeStatus(
    key: Key,
    self: Bond,
    { phase, reason, message, pin }: BondDecision,
    dependents: DependentsFact,
  ): Promise<void> {
    const { generation } = self.metadata
    const isActive = phase === 'Active' || phase === 'Released'
    const status: NonNullable<Bond['status']> = {
      ...self.status,
      phase,
      ...(pin ? { dependencyUid: pin } : self.spec.dependency.uid ? { dependencyUid: self.spec.dependency.uid } : {}),
      ...(dependents.are === 'known' ? { dependents: dependents.objects.length } : {}),
      conditions: [
        ...setCondition(
          self.status?.conditions,
          {
            type: 'Ready',
            status: isActive ? 'True' : 'False',
            reason,
            message,
            ...(generation === undefined ? {} : { observedGeneration: generation }),
          },
          ports.clock.now(),
        ),
      ],
    }
    if (deepEqual(self.status ?? {}, status)) return
    const written = await client
      .update<StoredObject>(bond.type, { ...self, status }, { subresource: 'status' })
      .catch(ignoring('NotFound'))
    if (written) controller.expect(key, written.metadata.resourceVersion)
  }

  /** Follows a kind that Bonds speak of; any change of it may concern them. */
  function watch(type: ResourceType): void {
    const name = `${type.plural}.${type.group}`
    if (watched.has(name)) return
    const informer = informers.open(client, type, { metadataOnly: true })
    watched.set(name, informer)
    informer.subscribe(({ object, initial }) => {
      if (initial) return
      for (const candidate of bonds.list()) if (speaksOf(candidate, type, object)) controller.enqueue(keyOf(candidate))
    })
  }
}

const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

function speaksOf({ spec, metadata }: Bond, type: ResourceType, { metadata: changed }: StoredObject): boolean {
  const { dependency, dependent } = spec
  const isKind = (kind: string) => kind.toLowerCase() === type.kind.toLowerCase()
  if (
    isKind(dependency.kind) &&
    dependency.name === changed.name &&
    (!type.namespaced || (dependency.namespace ?? metadata.namespace) === changed.namespace)
  )
    return true
  if (!isKind(dependent.kind) || (type.namespaced && metadata.namespace !== changed.namespace)) return false
  return dependent.name === undefined || dependent.name === changed.name
}

function unknownBecause(error: unknown, field: string): { reason: string; message: string } {
  const reason = isStatusError(error, 'Forbidden') ? 'Forbidden' : 'Unreadable'
  return { reason, message: `${field}: ${(error as Error).message}` }
}
