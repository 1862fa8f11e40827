import { keyOf } from '../../../kube/key.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import type { Core } from '../cluster/core.ts'
import { annotation } from '../model/annotations.ts'
import { workloadId } from '../model/service-registry.ts'
import { LastDay, type DayStep } from '../views/last-day.ts'

const whileUsedMs = 300_000
const whileAwakeMs = 1_800_000
const whileAsleepMs = 5000
const maxWrites = 10
/** So many workloads have a last day at most. */
const maxDays = 5000

interface Known {
  readonly workload: ObjectRef
  readonly day: LastDay
  writtenAt: number
  isUsed: boolean
  isChanged: boolean
}

/** Keeps the last day of on-demand workloads in an annotation of theirs, for charts. The leader writes it, of all replicas. */
export class DayRecorder {
  readonly #parts: Core
  readonly #days = new Map<string, Known>()

  constructor(parts: Core) {
    this.#parts = parts
  }

  note(workload: ObjectRef, step: DayStep): void {
    const { peers, dryRun, now, workloads } = this.#parts
    // What others led meanwhile is in the annotation.
    if (dryRun || !peers.leading) return this.#days.clear()
    const id = workloadId(workload)
    const known = this.#days.get(id)
    if (!known && this.#days.size >= maxDays) return
    const text = known ? '' : workloads.lastSeen(workload)?.metadata.annotations?.[annotation.lastDay]
    // The first use is written at once, a workload that is only awake with the others of that kind.
    const writtenAt = text === undefined ? now() - whileUsedMs : now()
    const found = known ?? { workload, day: new LastDay(text), writtenAt, isUsed: false, isChanged: false }
    found.day.add(now(), step)
    found.isChanged = true
    found.isUsed ||= step.requests > 0
    this.#days.set(id, found)
  }

  /** Writes what is due: soon after a workload fell asleep, every five minutes while it is used, every half hour while it is awake. */
  async write(): Promise<void> {
    const now = this.#parts.now()
    const due = [...this.#days.values()].filter(({ workload, writtenAt, isUsed, isChanged }) => {
      const isAsleep = this.#parts.workloads.lastSeenReplicas(workload) === 0
      return isChanged && now - writtenAt >= (isAsleep ? whileAsleepMs : isUsed ? whileUsedMs : whileAwakeMs)
    })
    await Promise.all(due.slice(0, maxWrites).map((known) => this.#write(known)))
  }

  /** Writes all that the API does not have yet. */
  async flush(): Promise<void> {
    for (const known of this.#days.values()) if (known.isChanged) await this.#write(known)
  }

  async #write(known: Known): Promise<void> {
    const { workloads, actions, now, log } = this.#parts
    const type = workloads.of(keyOf(known.workload))?.type
    known.writtenAt = now()
    known.isUsed = known.isChanged = false
    if (!type) return
    try {
      await actions.noteDay({ type, ref: known.workload }, String(known.day))
    } catch (error) {
      known.isChanged = true
      log.debug('last day of a workload not written', { workload: workloadId(known.workload), error })
    }
  }
}
