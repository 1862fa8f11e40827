import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { DeletionRecordOf } from '../../apiserver/objects/contract/deletion-record.ts'
import type { View } from '../../apiserver/store/store.ts'
import { isRecreatedByController } from '../../departures/subjects/contents.ts'
import { recordName, recordNamespace } from '../../departures/records/record.ts'
import { recordRemoved } from '../../departures/records/removed.ts'
import { groupResource, type KubeObject } from '../../kube/object.ts'
import type { Clock } from '../../runtime/time/clock.ts'

/**
 * The embedded server's records of what users delete: of each that others depend on, in the transaction of its removal, whether a collector runs then or
 * not. What goes in a cascade is on the pages of its record.
 */
export function userDeletionRecords(
  clock: Pick<Clock, 'now'>,
  { isNeeded }: { readonly isNeeded: (object: KubeObject) => boolean },
): DeletionRecordOf {
  return ({ object, cascadeRecord }, view) => {
    // By what each costs: this is asked of everything that goes.
    if (cascadeRecord !== undefined && isThere(view, cascadeRecord)) return undefined
    const home = recordNamespace('', object)
    // What is in a namespace that goes is on its record.
    if (!takesRecords(view, home)) return undefined
    if (!takesAlong(view, object.metadata.uid) && !isNeeded(object)) return undefined
    const name = recordName('', object)
    const found = recordAt(view, home, name) ?? recordAt(view, sojournNamespace, name)
    return recordRemoved(object, { found, now: clock.now() })
  }
}

/** Whether something lives by an object, or by what the cluster remakes for it, that a restore would have to bring back. */
function takesAlong(view: View, uid: string): boolean {
  // Grows while it is walked.
  const owners = new Set([uid])
  let looks = 0
  for (const owner of owners)
    for (const dependent of view.dependentsOf(owner, maxLooks - looks + 1)) {
      if (++looks > maxLooks) return true
      const object = owners.has(dependent.uid) ? undefined : view.get(dependent)?.document.value
      if (object && !isRecreatedByController(object)) return true
      owners.add(dependent.uid)
    }
  return false
}

/** A transaction must not keep everybody waiting: what takes longer to find out counts as worth a record. */
const maxLooks = 1000

function isThere(view: View, place: string): boolean {
  const [namespace = '', name = ''] = place.split('/')
  return view.get({ resource, namespace, name }) !== undefined
}

function recordAt(view: View, namespace: string, name: string): Departure | undefined {
  return view.get({ resource, namespace, name })?.document.value as Departure | undefined
}

const resource = groupResource(departure.type)

function takesRecords(view: View, namespace: string): boolean {
  const home = view.get({ resource: 'namespaces', namespace: '', name: namespace })?.document.value
  return home !== undefined && home.metadata.deletionTimestamp === undefined
}
