import { attributeOf, valueMatcher } from '../model/attribute.ts'
import { isExpired, timeToLiveOf, wholeDays } from '../model/time-to-live.ts'
import { daysParameter, hit, miss, missBecause, onlyParameters, undecided, type Rule } from './rule.ts'

/** Rules for resources of every kind. */
export const generalRules = {
  /** Older than so many whole days. Without the parameter it never matches. */
  AgeRule: {
    compile(parameters) {
      onlyParameters(parameters, 'moreThanDays')
      const days = daysParameter(parameters, 'moreThanDays')
      return ({ resource }, now) => {
        if (days === undefined) return miss
        if (resource.createdAt === undefined) return undecided('its age is unknown')
        const age = wholeDays(resource.createdAt, now)
        return age > days ? hit(`it is older than ${days} days`) : missBecause(`${age} of ${days} days`)
      }
    },
  },

  /** Any of the listed properties has one of its listed values. */
  AttributeRule: {
    compile(parameters) {
      const wanted = Object.entries(parameters).map(([key, value]) => ({
        key,
        matches: valueMatcher(Array.isArray(value) ? (value as readonly unknown[]) : [value]),
      }))
      return (described) => {
        const found = wanted.find(({ key, matches }) => matches(attributeOf(described, key)))
        return found ? hit(`its ${found.key} is ${shown(attributeOf(described, found.key))}`) : miss
      }
    },
  },

  /** The resource's own ttl has expired. */
  ExpiredResourceRule: {
    compile(parameters) {
      onlyParameters(parameters)
      return ({ resource }, now) => {
        const ttl = timeToLiveOf(resource)
        const expired = isExpired(ttl, resource.createdAt, now)
        if (expired === undefined)
          return undecided(ttl.says === 'malformed' ? `its ttl "${ttl.text}" is malformed` : 'its age is unknown')
        return expired ? hit('its own ttl has expired') : miss
      }
    },
  },

  /** The kind's detector finds no use of the resource. */
  Unused: {
    compile(parameters) {
      onlyParameters(parameters)
      return ({ resource: { use } }) => {
        if (use.state === 'unknown') return undecided(use.because)
        return use.state === 'unused' ? hit(use.because) : missBecause(`in use by ${use.by}`)
      }
    },
  },

  /** Matches exactly the listed ids, for tests. */
  AlwaysCleanRule: {
    compile(parameters) {
      onlyParameters(parameters, 'resourceIds')
      const ids = parameters.resourceIds
      if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string'))
        throw new Error('resourceIds must list the ids it is meant for')
      return ({ resource }) => (ids.includes(resource.name) ? hit('the rule lists its id') : miss)
    },
  },
} satisfies Readonly<Record<string, Rule>>

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
