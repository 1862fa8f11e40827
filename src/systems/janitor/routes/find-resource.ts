import { takeSnapshot, type Snapshot } from '../cycles/snapshot.ts'
import { newCandidate } from '../decision/candidate.ts'
import { locationsOf, type ResourceRef } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import type { Work, WorkPorts } from '../work/work.ts'
import { sentenceFor } from '../model/because.ts'
import { swabbieNamespace } from './swabbie-view.ts'

const timeoutMs = 60_000

/** Whether a policy would mark a resource now, and why. Writes nothing. */
export async function wouldMark(ports: WorkPorts, namespace: string, id: string): Promise<Record<string, unknown>> {
  const answer = (would: boolean, reason: string, summaries: readonly unknown[] = []) => ({
    namespace,
    resourceId: id,
    wouldMark: would,
    wouldMarkReason: reason,
    summaries,
  })
  let reason = 'the resource does not exist, or no policy targets it'
  for (const { snapshot, resource } of await locate(ports, namespace, id)) {
    const verdict = snapshot.judge(resource)
    if (verdict.is === 'violating')
      return answer(
        true,
        'it violates a policy',
        verdict.summaries.map(({ rule, description }) => ({ ruleName: rule, description })),
      )
    reason = [
      sentenceFor(verdict.because),
      ...('detail' in verdict && verdict.detail ? [verdict.detail] : useOf(resource)),
    ].join(': ')
  }
  return answer(false, reason)
}

/** The use that keeps a resource, or why its use is unknown. */
function useOf({ use }: Resource): readonly string[] {
  if (use.state === 'used') return [`in use by ${use.by}`]
  return use.state === 'unknown' ? [use.because] : []
}

/** The reference of a resource that a policy targets, whether marked or not. */
export async function findResource(ports: WorkPorts, namespace: string, id: string): Promise<ResourceRef | undefined> {
  const [found] = await locate(ports, namespace, id)
  return found && newCandidate(found.work.policy.name, found.work.location, found.resource).spec.resource
}

/** A resource in the snapshot of a policy that targets it. */
export interface Located extends PolicySnapshot {
  readonly resource: Resource
}

/** The resource of this name, once for each policy that targets it. */
export async function locate(ports: WorkPorts, namespace: string, id: string): Promise<readonly Located[]> {
  return (await takeSnapshots(ports)).flatMap(({ work, snapshot }) => {
    const resource = snapshot.observation.resources.find((each) => isAt(work, each, { namespace, id }))
    return resource ? [{ work, snapshot, resource }] : []
  })
}

function isAt(
  { policy, location }: Work,
  resource: Resource,
  { namespace, id }: { readonly namespace: string; readonly id: string },
): boolean {
  if (resource.name !== id) return false
  return swabbieNamespace(newCandidate(policy.name, location, resource).spec.resource) === namespace.toLowerCase()
}

interface PolicySnapshot {
  readonly work: Work
  readonly snapshot: Snapshot
}

/** A snapshot of every location of every valid policy, as a dry run. Locations with an incomplete inventory are skipped. */
async function takeSnapshots(ports: WorkPorts): Promise<readonly PolicySnapshot[]> {
  const snapshots: PolicySnapshot[] = []
  for (const object of ports.caches.policies.list()) {
    const readiness = ports.caches.readiness(object)
    if (!readiness.ready) continue
    const { policy, schedule } = readiness
    for (const location of locationsOf(ports.providers, policy)) {
      const work: Work = {
        policy,
        object,
        location,
        schedule,
        ports,
        dryRun: true,
        inWindow: true,
        fence: { held: true, number: 0 },
        signal: AbortSignal.timeout(timeoutMs),
        wrote: () => {},
        postpone: () => {},
      }
      try {
        snapshots.push({ work, snapshot: await takeSnapshot(work) })
      } catch (error) {
        if (!(error instanceof InventoryError)) throw error
      }
    }
  }
  return snapshots
}
