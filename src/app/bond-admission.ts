import { bond, type Bond } from '../apis/bond.ts'
import type { AdmissionHook } from '../apiserver/objects/admission.ts'
import type { Client } from '../client/client.ts'
import { groupResource } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Informer } from '../runtime/informer.ts'
import type { Informers } from '../runtime/informers.ts'

/** What Bonds mean for a DELETE on the embedded server: Deny refuses it, Cascade and Hold mark what goes with the seed's finalizer. */
export class BondAdmission {
  #bonds: Informer<Bond> | undefined

  /** Follows the Bonds; before this nothing is refused. */
  follow(informers: Informers, client: Client): void {
    this.#bonds = informers.open<Bond>(client, bond.type, { indexes: { dependency: guarded } })
  }

  /** Whether the deletion of an object has to wait for those who need it. */
  cascades(uid: string | undefined): boolean {
    return this.#of(uid).some(({ spec }) => spec.onDelete === 'Cascade' || spec.onDelete === 'Hold')
  }

  readonly hook: AdmissionHook = {
    validate: ({ operation, type, name, subresource, old }) => {
      if (operation !== 'DELETE' || subresource !== '' || !old || old.metadata.deletionTimestamp) return
      const denying = this.#of(old.metadata.uid).find(({ spec }) => spec.onDelete === 'Deny')
      if (!denying) return
      const reason = denying.spec.reason ? `: ${denying.spec.reason}` : ''
      throw new StatusError(
        'Conflict',
        `${groupResource(type)} "${name}" is in use by Bond ${denying.metadata.namespace}/${denying.metadata.name}${reason}`,
        { details: { name, kind: type.plural, group: type.group } },
      )
    },
  }

  #of(uid: string | undefined): readonly Bond[] {
    return uid === undefined ? [] : (this.#bonds?.byIndex('dependency', uid) ?? [])
  }
}

function guarded({ spec, status, metadata }: Bond): readonly string[] {
  const isInForce =
    status?.phase === 'Active' &&
    (status.dependents ?? 0) > 0 &&
    !spec.dependency.cluster &&
    !metadata.deletionTimestamp
  return isInForce && status?.dependencyUid ? [status.dependencyUid] : []
}
