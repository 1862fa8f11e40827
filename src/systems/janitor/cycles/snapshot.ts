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
  return {
    observation,
    now,
    describe: described,
    judge: (resource) => exclusions.verdict(resource, optOuts) ?? judge(described(resource), policy, context),
    lastSeenUsed: ledger.lastSeenUsed,
  }
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
