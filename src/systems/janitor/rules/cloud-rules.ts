import { attributeOf, type Described } from '../model/attribute.ts'
import { wholeDays } from '../model/time-to-live.ts'
import { daysParameter, hit, miss, onlyParameters, undecided, type Answer, type Rule } from './rule.ts'

const serverGroup = ['serverGroup'] as const

/** Swabbie's rules for cloud resources. Each reads facts that the provider sets to true or false, or leaves out when unknown. */
export const cloudRules = {
  ZeroInstanceRule: simple(serverGroup, (described) => isEmpty(described, 'instances', 'it has no instances')),
  ZeroLoadBalancerRule: simple(serverGroup, (described) =>
    isEmpty(described, 'loadBalancers', 'no load balancer sends it traffic'),
  ),

  /** Taken out of its load balancers, for more than so many days if told. */
  DisabledLoadBalancerRule: timed(serverGroup, (described) =>
    since(described, 'disabledSince', 'isDisabled', 'it was taken out of its load balancers'),
  ),
  /** Every instance is out of discovery, for more than so many days if told. */
  NotInDiscoveryRule: timed(serverGroup, (described) =>
    since(described, 'outOfDiscoverySince', 'isOutOfDiscovery', 'its instances are out of discovery'),
  ),
  ZeroInstanceDisabledServerGroupRule: disabledFor30Days((described) =>
    isEmpty(described, 'instances', 'it has no instances'),
  ),
  ZeroInstanceInDiscoveryDisabledServerGroupRule: disabledFor30Days((described) =>
    flag(described, 'isOutOfDiscovery', true, 'none of its instances is in discovery'),
  ),

  OrphanedImageRule: simple(['image'], unused),
  OrphanedSnapshotRule: simple(['snapshot'], unused),
  OrphanedELBRule: simple(['loadBalancer', 'loadBalancerV2'], unused),
} satisfies Readonly<Record<string, Rule>>

/** A rule's answer about a state, and since when the state lasts. */
interface TimedAnswer {
  readonly answer: Answer
  readonly since?: number
}

function simple(kinds: readonly string[], check: (described: Described) => Answer): Rule {
  return {
    kinds,
    compile(parameters) {
      onlyParameters(parameters)
      return check
    },
  }
}

function timed(kinds: readonly string[], look: (described: Described) => TimedAnswer): Rule {
  return {
    kinds,
    compile(parameters) {
      onlyParameters(parameters, 'moreThanDays')
      const days = daysParameter(parameters, 'moreThanDays')
      return (described, now) => lastingFor(look(described), days, now)
    },
  }
}

function disabledFor30Days(check: (described: Described) => Answer): Rule {
  return {
    kinds: serverGroup,
    compile(parameters) {
      onlyParameters(parameters, 'moreThanDays')
      const days = daysParameter(parameters, 'moreThanDays') ?? 30
      return (described, now) => {
        const answer = check(described)
        if (answer.hit !== true) return answer
        const disabled = since(described, 'disabledSince', 'isDisabled', 'it is disabled')
        return lastingFor(disabled, days, now)
      }
    },
  }
}

function lastingFor({ answer, since: began }: TimedAnswer, days: number | undefined, now: number): Answer {
  if (answer.hit !== true || days === undefined) return answer
  if (began === undefined) return undecided('it is not known since when')
  return wholeDays(began, now) > days ? hit(`${answer.says} more than ${days} days ago`) : miss
}

function since(described: Described, dateKey: string, flagKey: string, says: string): TimedAnswer {
  const date = attributeOf(described, dateKey)
  return { answer: flag(described, flagKey, true, says), ...(typeof date === 'number' ? { since: date } : {}) }
}

function flag(described: Described, key: string, wanted: boolean, says: string): Answer {
  const value = attributeOf(described, key)
  if (typeof value !== 'boolean') return undecided(`${key} is not known`)
  return value === wanted ? hit(says) : miss
}

function isEmpty(described: Described, key: string, says: string): Answer {
  const value = attributeOf(described, key)
  if (!Array.isArray(value)) return undecided(`${key} are not known`)
  return value.length === 0 ? hit(says) : miss
}

function unused({ resource: { use } }: Described): Answer {
  if (use.state === 'unknown') return undecided(use.because)
  return use.state === 'unused' ? hit(use.because) : miss
}
