import { look } from '../cycles/look.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { newCandidate } from '../decision/candidate.ts'
import type { ResourceRef } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import type { Work, WorkPorts } from '../work/work.ts'
import { sentenceFor } from '../model/because.ts'
import { swabbieNamespace } from './swabbie-view.ts'

const lookTimeMs = 60_000

/** What a policy would do about a resource now, without doing it. */
export async function wouldMark(ports: WorkPorts, namespace: string, id: string): Promise<Record<string, unknown>> {
  const answer = (would: boolean, reason: string, summaries: readonly unknown[] = []) => ({
    namespace,
    resourceId: id,
    wouldMark: would,
    wouldMarkReason: reason,
    summaries,
  })
  let reason = 'it does not exist, or no policy looks at it'
  for (const { work, seen } of await looks(ports)) {
    const resource = seen.observation.resources.find((candidate) => isAt(work, candidate, namespace, id))
    if (!resource) continue
    const verdict = seen.judge(resource)
    if (verdict.is === 'violating')
      return answer(
        true,
        'it has violations',
        verdict.summaries.map(({ rule, description }) => ({ ruleName: rule, description })),
      )
    reason = [
      sentenceFor(verdict.because),
      ...('detail' in verdict && verdict.detail ? [verdict.detail] : useOf(resource)),
    ].join(': ')
  }
  return answer(false, reason)
}

/** What is in the way of a resource that nothing else protects. */
function useOf({ use }: Resource): readonly string[] {
  if (use.state === 'used') return [`it is used by ${use.by}`]
  return use.state === 'unknown' ? [use.because] : []
}

/** A resource that some policy looks at, marked or not. */
export async function findResource(ports: WorkPorts, namespace: string, id: string): Promise<ResourceRef | undefined> {
  for (const { work, seen } of await looks(ports)) {
    const resource = seen.observation.resources.find((candidate) => isAt(work, candidate, namespace, id))
    if (resource) return newCandidate(work.policy.name, work.location, resource).spec.resource
  }
  return undefined
}

function isAt({ policy, location }: Work, resource: Resource, namespace: string, id: string): boolean {
  if (resource.name !== id) return false
  return swabbieNamespace(newCandidate(policy.name, location, resource).spec.resource) === namespace.toLowerCase()
}

/** A look at every location of every policy that works, as dry as can be. */
async function looks(
  ports: WorkPorts,
): Promise<readonly { readonly work: Work; readonly seen: Awaited<ReturnType<typeof look>> }[]> {
  const found: { work: Work; seen: Awaited<ReturnType<typeof look>> }[] = []
  for (const object of ports.desk.policies.list()) {
    const readiness = ports.desk.readiness(object)
    if (!readiness.ready) continue
    const { policy, schedule } = readiness
    for (const location of locationsOf(ports, policy)) {
      const work: Work = {
        policy,
        object,
        location,
        schedule,
        dryRun: true,
        fence: { held: true, number: 0 },
        signal: AbortSignal.timeout(lookTimeMs),
        wrote: () => {},
        rest: () => {},
      }
      try {
        found.push({ work, seen: await look(work, ports) })
      } catch (error) {
        if (!(error instanceof InventoryError)) throw error
      }
    }
  }
  return found
}

function locationsOf({ providers }: WorkPorts, policy: CompiledPolicy): readonly string[] {
  return providers.flatMap((provider) => provider.locations(policy))
}
