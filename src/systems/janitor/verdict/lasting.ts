import type { KubeObject } from '../../../kube/object.ts'
import { describe, excludedAtAnyTime, type Verdict } from './judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { protector, type OptOutFinder } from './protection.ts'
import type { Resource } from '../model/resource.ts'

/** Verdicts that hold as long as the object and the policy stay what they are; null where there is none. */
type Verdicts = WeakMap<KubeObject, Verdict | null>

/** Shielded or not: two targets of a policy may look at the same object differently. */
const known = new WeakMap<CompiledPolicy, { readonly shielded: Verdicts; readonly open: Verdicts }>()

/**
 * Says what excludes a resource at any time by what its object and the policy say alone; undefined where more must be
 * asked. Worked out once per version of an object: cycles see the same ones again and again.
 */
export function lastingVerdicts(
  policy: CompiledPolicy,
  findOptOuts: OptOutFinder,
): (resource: Resource) => Verdict | undefined {
  if (!policy.excludesByObjectAlone) return () => undefined
  const { shielded, open } = verdictsOf(policy)
  return (resource) => {
    // Only a cluster's cache hands out the same object as long as nothing about it has changed.
    if (resource.provider !== 'kubernetes' || findOptOuts(resource).length > 0) return undefined
    const verdicts = resource.shield ? shielded : open
    const former = verdicts.get(resource.object)
    if (former !== undefined) return former ?? undefined
    const excluded = excludedAtAnyTime(describe(resource, policy, {}), policy, carriedProtection)
    const verdict: Verdict | null = excluded ? { is: 'excluded', ...excluded } : null
    verdicts.set(resource.object, verdict)
    return verdict ?? undefined
  }
}

function verdictsOf(policy: CompiledPolicy): { readonly shielded: Verdicts; readonly open: Verdicts } {
  const former = known.get(policy)
  if (former) return former
  const verdicts = { shielded: new WeakMap(), open: new WeakMap() }
  known.set(policy, verdicts)
  return verdicts
}

const carriedProtection = protector(() => [], 0)
