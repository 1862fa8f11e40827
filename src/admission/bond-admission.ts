import { bond, type Bond } from '../apis/bond.ts'
import { grants, guardedNamespace, isGuarding, namesOf, refusesDeletion } from '../apis/bond-guard.ts'
import { refusedElsewhere } from '../apis/bond-marks.ts'
import type { AdmissionHook, Review } from '../apiserver/objects/contract/admission.ts'
import type { View } from '../apiserver/store/store.ts'
import type { Client } from '../client/client.ts'
import { groupResource, type KubeObject } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Informer } from '../runtime/cache/informer.ts'
import type { Informers } from '../runtime/cache/informers.ts'
import { bondAuthority, type Authorize } from './bond-authority.ts'
import { denyCycle } from './deny-cycle.ts'

/**
 * Enforces Bonds on the embedded server. Deny refuses the deletion of the dependency; Bonds of other clusters do so through the
 * marks they set. Cascade and Hold make the deletion wait for the collector, by a finalizer.
 */
export class BondAdmission {
  #bonds: Informer<Bond> | undefined
  #authorize: Authorize | undefined

  /** Watches the Bonds. Until this resolves nothing is refused: call it before the server listens. */
  follow(informers: Informers, client: Client, authorize?: Authorize): Promise<void> {
    this.#bonds = informers.open<Bond>(client, bond.type, { indexes: { dependency: guarded } })
    this.#authorize = authorize
    return this.#bonds.whenSynced()
  }

  /** Whether the deletion of an object waits for its dependents: a Bond says so, and the object's namespace permits it. */
  readonly cascades = (object: KubeObject, view: View): boolean =>
    this.#of(object.metadata.uid ?? '').some(
      ({ spec, metadata }) =>
        (spec.onDelete === 'Cascade' || spec.onDelete === 'Hold') && mayHoldUp(metadata.namespace, object, view),
    )

  /** Whether a Bond deletes dependents together with this object. */
  readonly isNeeded = ({ metadata }: KubeObject): boolean =>
    this.#of(metadata.uid ?? '').some(({ spec }) => spec.onDelete === 'Cascade')

  readonly hook: AdmissionHook = {
    validate: (review) => {
      if (review.subresource !== '') return
      if (review.operation === 'DELETE') return this.#validateDelete(review)
      if (this.#authorize) bondAuthority(review, this.#authorize)
      if (review.type.group === bond.group && review.type.kind === bond.kind) this.#validateBond(review)
    },
  }

  #validateDelete({ type, name, old }: Review): void {
    if (!old || old.metadata.deletionTimestamp) return
    const { uid = '' } = old.metadata
    const concerned = new Set([...this.#of(uid), ...this.#of(`namespace/${name}`)])
    const denying = [...concerned].filter((found) => refusesDeletion(found, old))
    const elsewhere = refusedElsewhere(old)
    if (denying.length === 0 && elsewhere === undefined) return
    const isItself = elsewhere !== undefined || denying.some(({ status }) => status?.dependencyUid === uid)
    const what = isItself ? 'is in use' : 'contains an object in use'
    const bonds = [...(denying.length > 0 ? [namesOf(denying)] : []), ...(elsewhere === undefined ? [] : [elsewhere])]
    throw new StatusError('Conflict', `${groupResource(type)} "${name}" ${what} by Bond ${bonds.join(', ')}`, {
      details: { name, kind: type.plural, group: type.group },
    })
  }

  #validateBond({ object, old, type, name }: Review): void {
    if (!object || (old && JSON.stringify(old.spec) === JSON.stringify(object.spec))) return
    const path = denyCycle(object as unknown as Bond, this.#bonds?.list() ?? [])
    if (path.length === 0) return
    throw new StatusError(
      'Invalid',
      `${type.kind}.${type.group} "${name}" is invalid: spec: it would close a cycle in which no object could ever be deleted: ${path.join(' -> ')}`,
    )
  }

  #of(key: string): readonly Bond[] {
    return key === '' ? [] : (this.#bonds?.byIndex('dependency', key) ?? [])
  }
}

function mayHoldUp(namespace: string | undefined, object: KubeObject, view: View): boolean {
  const there = object.metadata.namespace
  if (there !== undefined && there === namespace) return true
  const grantor = there ? view.get({ resource: 'namespaces', namespace: '', name: there })?.document.value : object
  return grants(grantor, namespace)
}

function guarded(found: Bond): readonly string[] {
  const { spec, status } = found
  if (!isGuarding(found) || spec.dependency.cluster || !status?.dependencyUid) return []
  const namespace = guardedNamespace(found)
  return [status.dependencyUid, ...(namespace === undefined ? [] : [`namespace/${namespace}`])]
}
