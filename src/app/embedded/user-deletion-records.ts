import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { DeletionRecords } from '../../apiserver/objects/contract/deletion-record.ts'
import type { View } from '../../apiserver/store/store.ts'
import { isRecreatedByController } from '../../departures/subjects/contents.ts'
import { hasDataToSeal, recordKeysPlace, RecordKeyError, RecordKeys } from '../../departures/records/record-keys.ts'
import { recordName, recordNamespace, userDeletionRecord } from '../../departures/records/record.ts'
import { groupResource, type KubeObject } from '../../kube/object.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../../runtime/time/clock.ts'

interface UserDeletionOptions extends Partial<Pick<Config, 'recordSecrets'>> {
  readonly isNeeded: (object: KubeObject) => boolean
}

/**
 * Records what users delete on the embedded server: every object that others depend on, in the transaction that removes it, whether a collector runs or
 * not. An object deleted by a cascade gets no record of its own; it is on the pages of the cascade's record.
 */
export function userDeletionRecords(
  clock: Pick<Clock, 'now'>,
  { isNeeded, recordSecrets }: UserDeletionOptions,
): DeletionRecords {
  return {
    annotation: 'sojourn.dev/cascade-record',
    // Every removal asks this, so the cheapest checks come first.
    recordOf({ object, cascadeRecord }, view) {
      if (cascadeRecord !== undefined && isStored(view, cascadeRecord)) return undefined
      const namespace = recordNamespace('', object)
      // The contents of a namespace that is being deleted are on the namespace's own record.
      if (!takesRecords(view, namespace)) return undefined
      if (!hasRestorableDependents(view, object.metadata.uid) && !isNeeded(object)) return undefined
      const name = recordName('', object)
      const found = recordAt(view, namespace, name) ?? recordAt(view, sojournNamespace, name)
      const keys = recordSecrets && hasDataToSeal(object) ? keysIn(view) : undefined
      return userDeletionRecord(object, { found, now: clock.now(), keys })
    },
  }
}

/** Without a usable key the user's deletion goes on, and the record has no data, as if records kept none. */
function keysIn(view: View): RecordKeys | undefined {
  try {
    return new RecordKeys(view.get({ resource: 'secrets', ...recordKeysPlace })?.document.value)
  } catch (error) {
    if (error instanceof RecordKeyError) return undefined
    throw error
  }
}

/** Whether an object has dependents, direct or through objects that controllers recreate, which a restore would have to create again. */
function hasRestorableDependents(view: View, uid: string): boolean {
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

/** The store runs one transaction at a time: a search that takes longer than this counts as a hit. */
const maxLooks = 1000

function isStored(view: View, record: string): boolean {
  const [namespace = '', name = ''] = record.split('/')
  return view.get({ resource, namespace, name }) !== undefined
}

function recordAt(view: View, namespace: string, name: string): Departure | undefined {
  return view.get({ resource, namespace, name })?.document.value as Departure | undefined
}

const resource = groupResource(departure.type)

function takesRecords(view: View, namespace: string): boolean {
  const found = view.get({ resource: 'namespaces', namespace: '', name: namespace })?.document.value
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}
