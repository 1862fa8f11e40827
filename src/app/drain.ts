import type { Client } from '../client/client.ts'
import { letGo, runningSystems, surveyHeld, type Held } from '../departures/drain.ts'
import type { StoredObject } from '../kube/object.ts'
import { sleep, systemClock, type Clock } from '../runtime/clock.ts'
import { giveBackAll, surveyTakenOver } from '../systems/activator/giving-back.ts'

export interface DrainOptions {
  /** Defaults to the machine's. */
  readonly clock?: Clock
  /** Only look. */
  readonly dryRun: boolean
  readonly onProgress?: (doing: string, done: number) => void
  readonly signal?: AbortSignal
}

/** What a drain found, and whether nothing is held any more. */
export interface Drained {
  readonly held: readonly Held[]
  /** Services whose callers are led by us, to proxies that are about to go. */
  readonly taken: readonly StoredObject[]
  /** Who of us still runs there. */
  readonly running: readonly string[]
  /** Sentences about what is, or may be, still held; empty when all is let go. */
  readonly problems: readonly string[]
}

/**
 * Lets go of everything that Sojourn holds in a cluster, and gives back what it has taken over, so that it can be taken away. While it runs
 * there, changes nothing.
 */
export async function drain(
  client: Client,
  { clock = systemClock, dryRun, onProgress, signal }: DrainOptions,
): Promise<Drained> {
  const running = await runningSystems(client, clock.now())
  const { held, unread } = await surveyHeld(client, (done) => onProgress?.('looking', done))
  const unseen = unread.map((what) => `could not be looked at: ${what}`)
  const taken = await surveyTakenOver(client).catch((error: unknown) => {
    unseen.push(`could not be looked at: what is taken over: ${error instanceof Error ? error.message : String(error)}`)
    return []
  })
  const found = { held, taken, running }
  if (dryRun || running.length > 0) return { ...found, problems: unseen }
  const kept = await giveBackAll(client, taken, {
    clock,
    onProgress: (done) => onProgress?.('giving back', done),
    ...(signal ? { signal } : {}),
  })
  const failed = await letGo(client, held, (done) => onProgress?.('letting go', done))
  // Whoever holds no Lease, such as `sojourn up`, is found out by what it takes hold of again.
  if (held.length + taken.length > 0) await sleep(clock, againMs, signal)
  const { held: left } = await surveyHeld(client, (done) => onProgress?.('looking again', done))
  const takenAgain = taken.length > 0 && kept.length === 0 ? await surveyTakenOver(client) : []
  return {
    ...found,
    problems: [
      ...unseen,
      ...kept.map((what) => `could not be given back: ${what}`),
      ...failed.map((what) => `could not be let go: ${what}`),
      ...(failed.length === 0 && left.length > 0 ? [`held again: ${left.length} objects; ${stopIt}`] : []),
      ...(takenAgain.length > 0 ? [`taken over again: ${takenAgain.length} Services; ${stopIt}`] : []),
    ],
  }
}

const againMs = 2000
const stopIt = 'something of Sojourn still runs, stop it and drain again'
