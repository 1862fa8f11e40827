import type { Plan, PlannedDelete } from '../../departures/door/depart-together.ts'
import { placeOf, type StoredObject } from '../../kube/object.ts'
import type { Actor } from '../../tenancy/act-as.ts'
import { accessTo } from '../../tenancy/confinement.ts'
import { decide, type Resolution } from './decision/decide.ts'
import type { Model } from './decision/model.ts'
import { isPlan } from './delete-targets.ts'
import { locateAll, resolveOne } from './observe.ts'
import type { CleanerPorts } from './ports.ts'

interface Expired {
  readonly self: StoredObject
  readonly model: Model
  readonly actor: Actor
  /** Whether the deletes of a plan happen all or not at all. */
  readonly isAtomic: boolean
}

/**
 * The plan to delete a Cleaner with its targets, which needs no recorded decision and no finalizers. Undefined where more than that is
 * to be done, or the identity behind the Cleaner may not do it: then the decision is recorded and carried out stage by stage.
 */
export async function planTogether(
  ports: CleanerPorts,
  { self, model, actor, isAtomic }: Expired,
): Promise<Plan | undefined> {
  const { client, clock, type } = ports
  const { namespace = '' } = self.metadata
  if (!isSimple(model) || (self.metadata.finalizers ?? []).length > 0 || actor.client !== client) return undefined
  const inUse = model.targets.filter((target) => target.evaluate || target.delete)
  const located = await locateAll(client, { self, actor }, inUse)
  for (const { target, at } of located) {
    if (!('type' in at) || !at.type.namespaced || target.select.by !== 'name') return undefined
    const access = accessTo('delete', at.type, { namespace, name: target.select.name })
    if (target.delete && (await actor.refusalOf(access))) return undefined
    // Killed between two deletes, the Cleaner could not be judged again without this target.
    if (!isAtomic && target.delete && target.evaluate) return undefined
  }
  return {
    namespace,
    reads: [
      { type, place: placeOf(self.metadata), known: self },
      ...located.flatMap(({ target, at }) =>
        'type' in at && target.select.by === 'name'
          ? [{ type: at.type, place: { namespace, name: target.select.name } }]
          : [],
      ),
    ],
    decide(read) {
      const now = read(type, placeOf(self.metadata))
      if (now?.metadata.uid !== self.metadata.uid || now.metadata.resourceVersion !== self.metadata.resourceVersion)
        return undefined
      const resolutions = new Map<string, Resolution>()
      const deletes = new Map<string, PlannedDelete>()
      for (const { target, at } of located) {
        if (!('type' in at) || target.select.by !== 'name') return undefined
        const found = resolveOne(target, at.type, read(at.type, { namespace, name: target.select.name }))
        resolutions.set(target.name, found)
        if (!target.delete) continue
        // What is missing or being deleted already is reported, stage by stage.
        if (found.found !== 'object' || found.object.metadata.deletionTimestamp) return undefined
        deletes.set(found.object.metadata.uid, { type: at.type, object: found.object, because: 'target' })
      }
      if (decide({ self, reading: { model }, resolutions }, clock.now()).do !== 'delete') return undefined
      const { schedules, dryRun } = model
      return [...deletes.values(), { type, object: now, because: 'conditions-met', schedules, dryRun }]
    },
  }
}

/** Whether nothing but a few named objects is to be deleted, in the background, unannounced and without waiting for them. */
function isSimple({ targets, releases, sink, waitMs, warn }: Model): boolean {
  if (warn) return false
  if (releases.length > 0 || sink !== undefined || waitMs !== undefined || !isPlan(targets)) return false
  return targets.every(
    ({ select, onMissing, propagation = 'Background' }) =>
      select.by === 'name' && onMissing !== 'WaitForAny' && propagation === 'Background',
  )
}
