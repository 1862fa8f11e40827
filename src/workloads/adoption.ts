import { keyOf, type Key } from '../kube/key.ts'
import { placeOf, type KubeObject, type ResourceType, type StoredObject } from '../kube/object.ts'
import { matches, requirementsOf, type LabelSelector, type Requirement } from '../kube/selector.ts'
import { ignoring } from '../kube/status-error.ts'
import type { Change, Informer } from '../runtime/cache/informer.ts'
import { Controller, type ControllerOptions } from '../runtime/controller/controller.ts'
import type { WorkloadPorts } from './ports.ts'
import { controllerRef, controllerUid } from './types.ts'

/** An object that owns others by its selector. */
interface Selecting extends StoredObject {
  readonly spec: { readonly selector?: LabelSelector | Readonly<Record<string, string>> }
}

/** What owners claim. */
interface Claimed<Owner extends Selecting, Dependent extends StoredObject> {
  readonly ownerType: ResourceType
  /** The kind of the dependents. */
  readonly type: ResourceType
  /** Further indexes of the cache of dependents. */
  readonly indexes?: Readonly<Record<string, (dependent: Dependent) => readonly string[]>>
  /** Beside the selector, what a dependent of this owner must be. */
  readonly isMember?: (owner: Owner, dependent: Dependent) => boolean
  /** Set by an adoption and removed by a release. */
  readonly finalizer?: string
}

interface ClaimOptions<Owner extends Selecting, Dependent extends StoredObject>
  extends Claimed<Owner, Dependent>, Pick<WorkloadPorts, 'client' | 'informers'> {
  readonly controller: Controller
  readonly owners: Informer<Owner>
}

/** The controller of a kind whose objects own others, with the caches of both. */
export interface OwnerController<Owner extends Selecting, Dependent extends StoredObject> {
  readonly controller: Controller
  readonly owners: Informer<Owner>
  readonly claims: Claims<Owner, Dependent>
}

/** Opens the caches of owners and dependents, and reconciles an owner when any of them changes. */
export function ownerController<Owner extends Selecting, Dependent extends StoredObject>(
  { client, informers, ports }: WorkloadPorts,
  {
    reconcile,
    concurrency = 2,
    ...claimed
  }: Claimed<Owner, Dependent> & Pick<ControllerOptions, 'reconcile' | 'concurrency'>,
): OwnerController<Owner, Dependent> {
  const owners = informers.open<Owner>(client, claimed.ownerType)
  const controller = new Controller({ name: claimed.ownerType.plural, reconcile, ports, concurrency })
  controller.watch(owners)
  return { controller, owners, claims: new Claims({ client, informers, controller, owners, ...claimed }) }
}

/** Index of dependents by the uid of their controller; those without one by namespace, as `orphans/NAMESPACE`. */
function controllerIndex(object: KubeObject): readonly string[] {
  const [uid] = controllerUid(object)
  return [uid ?? `orphans/${object.metadata.namespace ?? ''}`]
}

/**
 * Dependents by selector, as Kubernetes' controllers claim them: a matching object without a controller is adopted, an
 * owned one that no longer matches is released.
 */
export class Claims<Owner extends Selecting, Dependent extends StoredObject> {
  readonly dependents: Informer<Dependent>
  readonly #options: ClaimOptions<Owner, Dependent>

  constructor(options: ClaimOptions<Owner, Dependent>) {
    const { client, informers, type, indexes, controller } = options
    this.#options = options
    this.dependents = informers.open<Dependent>(client, type, { indexes: { controller: controllerIndex, ...indexes } })
    controller.watch(this.dependents, (change) => this.#keysOf(change))
  }

  /** A dependent was written: its owner is not reconciled before the cache shows it. */
  expect(owner: Key, written: StoredObject | undefined): void {
    const { controller } = this.#options
    if (written) controller.expect(owner, written.metadata.resourceVersion, this.dependents as never)
  }

  /** The dependents of an owner, after adoption and release. An owner that is being deleted adopts nothing. */
  async of(owner: Owner): Promise<readonly Dependent[]> {
    const { isMember = () => true } = this.#options
    const owned = this.dependents.byIndex('controller', owner.metadata.uid)
    if (owner.metadata.deletionTimestamp || requirementsIn(owner).length === 0) return owned
    const belongs = (each: Dependent) => selects(owner, each) && isMember(owner, each)
    const orphans = this.dependents
      .byIndex('controller', `orphans/${owner.metadata.namespace ?? ''}`)
      .filter((each) => belongs(each) && !each.metadata.deletionTimestamp)
    const strays = owned.filter((each) => !belongs(each) && !each.metadata.deletionTimestamp)
    const adopted = orphans.length > 0 ? await this.#adopt(owner, orphans) : []
    const released = await Promise.all(strays.map((each) => this.#release(owner, each)))
    return [...owned.filter((each) => !strays.includes(each) || !released[strays.indexOf(each)]), ...adopted]
  }

  /** Reads the owner first: the cache may still hold one that is deleted, and an adoption by it would delete the object. */
  async #adopt(owner: Owner, orphans: readonly Dependent[]): Promise<readonly Dependent[]> {
    const { client, ownerType, finalizer } = this.#options
    const now = await client.get<StoredObject>(ownerType, placeOf(owner.metadata)).catch(ignoring('NotFound'))
    if (now?.metadata.uid !== owner.metadata.uid || now.metadata.deletionTimestamp) return []
    const written = orphans.map(({ metadata }) =>
      this.#write(owner, metadata, {
        ownerReferences: [...(metadata.ownerReferences ?? []), controllerRef(ownerType, owner)],
        ...(finalizer ? { finalizers: [...new Set([...(metadata.finalizers ?? []), finalizer])] } : {}),
      }),
    )
    return (await Promise.all(written)).filter((each) => each !== undefined)
  }

  async #release(owner: Owner, { metadata }: Dependent): Promise<boolean> {
    const { ownerReferences = [], finalizers = [] } = metadata
    const written = await this.#write(owner, metadata, {
      ownerReferences: ownerReferences.filter(({ uid }) => uid !== owner.metadata.uid),
      finalizers: finalizers.filter((each) => each !== this.#options.finalizer),
    })
    return written !== undefined
  }

  /** A change by others in the meantime wins: the next reconcile decides again. */
  async #write(owner: Owner, metadata: StoredObject['metadata'], change: object): Promise<Dependent | undefined> {
    const { client, type } = this.#options
    const { uid, resourceVersion } = metadata
    const body = { metadata: { uid, resourceVersion, ...change } }
    const written = await client.merge<Dependent>(type, placeOf(metadata), body).catch(ignoring('NotFound', 'Conflict'))
    this.expect(keyOf(owner), written)
    return written
  }

  /** The controller that an object has or had, or, without one, every owner that would adopt it. */
  *#keysOf({ object, previous }: Change<Dependent>): Generator<Key> {
    const { ownerType, owners } = this.#options
    yield* ownerKeys(object, ownerType.kind)
    if (previous) yield* ownerKeys(previous, ownerType.kind)
    if (controllerUid(object).length > 0) return
    for (const owner of owners.list(object.metadata.namespace)) if (selects(owner, object)) yield keyOf(owner)
  }
}

/** The key of an object's controller, if it is of this kind. */
export function* ownerKeys(object: StoredObject, kind: string): Generator<Key> {
  const owner = object.metadata.ownerReferences?.find((reference) => reference.controller && reference.kind === kind)
  if (owner)
    yield keyOf({
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.name,
      namespace: object.metadata.namespace ?? '',
    })
}

/** An empty selector selects nothing here: it must not adopt a whole namespace. */
function selects(owner: Selecting, { metadata }: StoredObject): boolean {
  const requirements = requirementsIn(owner)
  return requirements.length > 0 && matches(requirements, metadata.labels)
}

/** The selector of a ReplicationController is a plain map of labels. */
function requirementsIn({ spec: { selector = {} } }: Selecting): readonly Requirement[] {
  const isPlainMap = Object.values(selector).some((value) => typeof value === 'string')
  return requirementsOf(isPlainMap ? { matchLabels: selector as Record<string, string> } : selector)
}
