import { bond, type Bond } from '../../apis/bond.ts'
import { guardedNamespace, isGuarding, namesOf, refusesDeletion } from '../../apis/bond-guard.ts'
import { refusedElsewhere } from '../../apis/bond-marks.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import type { Client } from '../../client/client.ts'
import { refOf, type KubeObject, type ObjectRef } from '../../kube/object.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { protectionOf, type Protection, type ProtectionFacts } from './protection.ts'

/** The opt-outs and Bonds that protect objects at the moment, from watched caches. */
export class ProtectionCache {
  readonly #optOuts: Informer<CleanupOptOut>
  readonly #bonds: Informer<Bond>

  constructor(client: Client, informers: Informers) {
    this.#optOuts = informers.open<CleanupOptOut>(client, cleanupOptOut.type, { indexes: { kind: optOutKinds } })
    this.#bonds = informers.open<Bond>(client, bond.type, { indexes: { dependency: bondDependency } })
  }

  /** Whether the caches are complete and follow the cluster. While they are not, nothing may be deleted. */
  get isCurrent(): boolean {
    return isCurrent(this.#optOuts) && isCurrent(this.#bonds)
  }

  /** Whether there are neither opt-outs nor Bonds. */
  get isEmpty(): boolean {
    return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0
  }

  get informers(): readonly Informer[] {
    return [this.#optOuts, this.#bonds] as unknown as readonly Informer[]
  }

  /** Calls the listener when a Bond stops protecting what it needs. */
  onRelease(listener: () => void): void {
    this.#bonds.subscribe(({ type, object, previous }) => {
      if (previous && isBlocking(previous) && (type === 'deleted' || !isBlocking(object))) listener()
    })
  }

  /** What may protect an object, beside its own marks; undefined while that is unknown. */
  factsAbout(cluster: string, ref: ObjectRef, uid: string): Omit<ProtectionFacts, 'now'> | undefined {
    if (!this.isCurrent) return undefined
    return {
      cluster,
      optOuts: this.#optOuts.byIndex('kind', ref.kind.toLowerCase()),
      bonds: this.#bonds.byIndex('dependency', `${cluster}/${uid}`),
    }
  }

  /** What protects an object that would be deleted because another is. The cluster's own objects and ours are not protected here: they are deleted with their owners. */
  protectionOfFollower(cluster: string, object: KubeObject, now: number): Protection | undefined {
    const facts = this.factsAbout(cluster, refOf(object), object.metadata.uid ?? '')
    if (!facts) return { result: 'held', because: 'protections-unknown' }
    const protection = protectionOf(object, { ...facts, now })
    return protection && !followsFreely.has(protection.because) ? protection : undefined
  }

  /** The Bonds that forbid every user to delete an object, or a namespace with its contents; undefined when there are none. */
  denyingBonds(object: KubeObject): string | undefined {
    const { uid, name } = object.metadata
    const candidates = [`/${uid}`, `namespace/${name}`].flatMap((key) => this.#bonds.byIndex('dependency', key))
    const denying = [...new Set(candidates)].filter((found) => refusesDeletion(found, object))
    return denying.length > 0 ? namesOf(denying) : refusedElsewhere(object)
  }
}

/** Whether a cache is complete and follows its cluster. */
export function isCurrent(informer: { readonly synced: boolean; readonly lastError: unknown }): boolean {
  return informer.synced && informer.lastError === undefined
}

const followsFreely: ReadonlySet<string> = new Set(['system-namespace', 'own-machinery'])

function optOutKinds({ spec }: CleanupOptOut): readonly string[] {
  return [spec.resource?.kind, spec.selector?.kind]
    .filter((kind) => kind !== undefined)
    .map((kind) => kind.toLowerCase())
}

/** The dependency that a Bond protects, as `cluster/uid`, and the namespace that must stay whole for it. */
function bondDependency(found: Bond): readonly string[] {
  const { spec, status } = found
  if (!isGuarding(found)) return []
  const namespace = guardedNamespace(found)
  return [
    `${spec.dependency.cluster ?? ''}/${status?.dependencyUid}`,
    ...(namespace === undefined ? [] : [`namespace/${namespace}`]),
  ]
}

function isBlocking(found: Bond): boolean {
  return isGuarding(found) && (found.spec.onDelete === 'Hold' || found.spec.onDelete === 'Deny')
}
