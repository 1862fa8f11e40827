import { exclusionCacheFor } from '../verdict/exclusion-cache.ts'
import type { Described } from '../model/attribute.ts'
import { describe, judge, type JudgeContext, type UseHistory, type Verdict } from '../verdict/judge.ts'
import type { Owner } from '../policy/owner.ts'
import { optOutFinder, protectionCheck } from '../verdict/protection.ts'
import { providerOf, type Observation } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import type { Work } from '../work/work.ts'

/** A complete and fresh inventory of a location, ready to be judged. */
export interface Snapshot {
  readonly observation: Observation
  readonly now: number
  readonly judge: (resource: Resource) => Verdict
  readonly lastSeenUsed: UseHistory['lastSeenUsed']
  readonly describe: (resource: Resource) => Described & { readonly resolveOwner: () => Owner | undefined }
}

/**
 * Lists and reads everything the policy needs to judge one location. With `skipExcluded`, unmarked resources that stay
 * excluded are only counted. Throws InventoryError when the listing may be incomplete.
 */
export async function takeSnapshot(work: Work, { skipExcluded = false } = {}): Promise<Snapshot> {
  const { policy, location, signal, ports } = work
  const exclusions = exclusionCacheFor(policy, location)
  exclusions.noteMarks(new Set(ports.caches.marks(policy.name, location).map(({ spec }) => spec.resource.uid)))
  const observation = await providerOf(ports.providers, location).observe({
    policy,
    location,
    signal,
    exclusions: skipExcluded ? exclusions : undefined,
  })
  const now = ports.clock.now()
  checkObservation(work, observation, now)
  if (!ports.caches.current)
    throw new InventoryError('CleanupOptOuts or WorkSchedules cannot be read from the API server at the moment')
  const ledger = await ports.ledgers.record(work, observation)
  const optOuts = optOutFinder(ports.caches.optOuts.list())
  const { owners } = observation
  const context: JudgeContext = { protection: protectionCheck(optOuts, now), owners, ledger, now }
  const described = (resource: Resource) => describe(resource, policy, owners)
  const verdictOf = (resource: Resource) =>
    exclusions.verdict(resource, optOuts) ?? judge(described(resource), policy, context)
  const held = await heldByContents(work, observation.resources, verdictOf)
  return {
    observation,
    now,
    describe: described,
    judge: (resource) => held.get(resource.uid) ?? verdictOf(resource),
    lastSeenUsed: ledger.lastSeenUsed,
  }
}

/** Kinds whose deletion deletes other objects, too. */
const containers = ['Namespace', 'CustomResourceDefinition']

/** Excludes what the door would hold for a protected object in it: announcing that would be wrong. */
async function heldByContents(
  { ports, location }: Work,
  resources: readonly Resource[],
  verdictOf: (resource: Resource) => Verdict,
): Promise<ReadonlyMap<string, Verdict>> {
  const held = new Map<string, Verdict>()
  for (const resource of resources) {
    const { provider, cluster, apiVersion, kind, name, uid } = resource
    if (provider !== 'kubernetes' || !containers.includes(kind) || verdictOf(resource).is !== 'violating') continue
    const ref = { provider, cluster, apiVersion, kind, name, uid }
    const answer = await ports.door.protectedContents(await providerOf(ports.providers, location).subject(ref))
    if (answer?.result === 'held' && answer.because === 'takes-protected')
      held.set(uid, { is: 'excluded', because: 'takes-protected', ...(answer.detail ? { detail: answer.detail } : {}) })
    else if (answer)
      held.set(uid, { is: 'unknown', because: 'use-unknown', detail: 'the objects in it cannot be listed' })
  }
  return held
}

function checkObservation({ policy }: Work, { observedAt, references }: Observation, now: number): void {
  const { minInventory, maxEvidenceAgeMs } = policy.safety
  if (now - observedAt > maxEvidenceAgeMs)
    throw new InventoryError('the inventory is older than spec.safety.maxEvidenceAge allows')
  if (references !== undefined && references < minInventory)
    throw new InventoryError(
      `only ${references} references were found; fewer than spec.safety.minInventory (${minInventory}) suggests an incomplete answer`,
    )
}
