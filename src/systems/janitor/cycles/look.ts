import { asideOf } from '../verdict/aside.ts'
import type { Described } from '../model/attribute.ts'
import { describe, judge, type Surroundings, type UseHistory, type Verdict } from '../verdict/judge.ts'
import type { Owner } from '../policy/owner.ts'
import { lastingVerdicts } from '../verdict/lasting.ts'
import { optOutFinder, protector } from '../verdict/protection.ts'
import { providerOf, type Observation } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import type { Work, WorkPorts } from '../work/work.ts'

/** A complete and fresh look at a location, ready to judge. */
export interface Look {
  readonly observation: Observation
  readonly now: number
  readonly judge: (resource: Resource) => Verdict
  readonly lastSeenUsed: UseHistory['lastSeenUsed']
  readonly describe: (resource: Resource) => Described & { readonly found: () => Owner | undefined }
}

/**
 * Looks at everything a policy is about at one location; walking past what stays excluded and has no mark, it only
 * counts that. Throws InventoryError when that is not certain to be all.
 */
export async function look(work: Work, ports: WorkPorts, { walksPast = false } = {}): Promise<Look> {
  const { policy, location, signal } = work
  const { desk, providers, clock, ledgers } = ports
  const aside = walksPast ? asideOf(policy, location) : undefined
  aside?.mind(new Set(desk.marks(policy.name, location).map(({ spec }) => spec.resource.uid)))
  const observation = await providerOf(providers, location).observe({ policy, location, signal, aside })
  const now = clock.now()
  checkObservation(work, observation, now)
  if (!desk.current) throw new InventoryError('opt-outs and schedules cannot be read at the moment')
  const ledger = await ledgers.note(work, observation)
  const optOuts = optOutFinder(desk.optOuts.list())
  const lasting = lastingVerdicts(policy, optOuts)
  const around: Surroundings = {
    protection: protector(optOuts, now),
    owners: observation.owners,
    ledger,
    now,
  }
  const described = (resource: Resource) => describe(resource, policy, observation.owners)
  return {
    observation,
    now,
    describe: described,
    judge: (resource) => lasting(resource) ?? judge(described(resource), policy, around),
    lastSeenUsed: ledger.lastSeenUsed,
  }
}

function checkObservation({ policy }: Work, { observedAt, references }: Observation, now: number): void {
  const { minInventory, maxEvidenceAgeMs } = policy.safety
  if (now - observedAt > maxEvidenceAgeMs) throw new InventoryError('what was seen is too old to be relied on')
  if (references !== undefined && references < minInventory)
    throw new InventoryError(
      `only ${references} references were seen; fewer than ${minInventory} look like an incomplete answer`,
    )
}
