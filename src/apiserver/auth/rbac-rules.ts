import { isResourceAccess, type Access } from './access.ts'

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** The rules of cluster-admin: every verb on every resource and path. */
export const allRules: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Whether this rule alone allows the access. */
export function ruleAllows(rule: PolicyRule, access: Access): boolean {
  if (!includes(rule.verbs, access.verb)) return false
  if (!isResourceAccess(access))
    return (rule.nonResourceURLs ?? []).some((pattern) => pathMatches(pattern, access.path))
  return (
    includes(rule.apiGroups, access.group) &&
    resourceMatches(rule.resources ?? [], access) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(access.name))
  )
}

/** How many parts of rules are compared with how many rules at most: lists multiply, and a role may have long ones. */
const maxParts = 10_000
const maxComparisons = 20_000_000

/**
 * The parts of `wanted` that no rule of `held` covers, each as a rule of one verb, group, resource and name. Undefined when there
 * are too many parts to look at.
 */
export function uncovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] | undefined {
  if (held.length * wanted.length > maxComparisons) return undefined
  const sets = held.map(setsOf)
  const isCovered = (part: PolicyRule) => sets.some((rule) => covers(rule, part))
  const parts: PolicyRule[] = []
  for (const rule of wanted) {
    if (!rule.nonResourceURLs?.length && isCovered(rule)) continue
    for (const part of breakdown(rule)) {
      parts.push(part)
      if (parts.length > maxParts || parts.length * held.length > maxComparisons) return undefined
    }
  }
  return parts.filter((part) => !isCovered(part))
}

/** A rule as kube-apiserver prints it in escalation errors. */
export function describeRule(rule: PolicyRule): string {
  const fields = (
    [
      ['APIGroups', rule.apiGroups],
      ['Resources', rule.resources],
      ['ResourceNames', rule.resourceNames],
      ['NonResourceURLs', rule.nonResourceURLs],
      ['Verbs', rule.verbs],
    ] as const
  ).flatMap(([name, values]) =>
    values?.length ? [`${name}:[${values.map((value) => JSON.stringify(value)).join(' ')}]`] : [],
  )
  return `{${fields.join(', ')}}`
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes('*') || list.includes(value))
}

function resourceMatches(
  resources: readonly string[],
  { resource, subresource }: { readonly resource: string; readonly subresource: string },
): boolean {
  const combined = subresource ? `${resource}/${subresource}` : resource
  return resources.some(
    (pattern) => pattern === '*' || pattern === combined || (subresource !== '' && pattern === `*/${subresource}`),
  )
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))
}

/** Splits a rule into rules of one verb, group, resource and name, so that each can be covered by a different rule. */
function* breakdown(rule: PolicyRule): Generator<PolicyRule> {
  const names = rule.resourceNames?.length ? new Set(rule.resourceNames) : [undefined]
  for (const verb of new Set(rule.verbs)) {
    for (const url of new Set(rule.nonResourceURLs)) yield { verbs: [verb], nonResourceURLs: [url] }
    for (const group of new Set(rule.apiGroups))
      for (const resource of new Set(rule.resources))
        for (const name of names)
          yield {
            verbs: [verb],
            apiGroups: [group],
            resources: [resource],
            ...(name === undefined ? {} : { resourceNames: [name] }),
          }
  }
}

/** A rule that is compared with many others. */
type RuleSets = Readonly<Record<Exclude<keyof PolicyRule, 'nonResourceURLs'>, ReadonlySet<string>>> &
  Pick<PolicyRule, 'nonResourceURLs'>

function setsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): RuleSets {
  return {
    verbs: new Set(verbs),
    apiGroups: new Set(apiGroups),
    resources: new Set(resources),
    resourceNames: new Set(resourceNames),
    ...(nonResourceURLs ? { nonResourceURLs } : {}),
  }
}

function covers(rule: RuleSets, part: PolicyRule): boolean {
  if (!coversAll(rule.verbs, part.verbs)) return false
  if (part.nonResourceURLs?.length) {
    return part.nonResourceURLs.every((url) => rule.nonResourceURLs?.some((pattern) => pathMatches(pattern, url)))
  }
  return (
    coversAll(rule.apiGroups, part.apiGroups) &&
    (part.resources ?? []).every((resource) => coversResource(rule.resources, resource)) &&
    coversNames(rule.resourceNames, part.resourceNames)
  )
}

function coversAll(list: ReadonlySet<string>, wanted: readonly string[] = []): boolean {
  return list.has('*') || wanted.every((value) => list.has(value))
}

function coversResource(resources: ReadonlySet<string>, wanted: string): boolean {
  if (resources.has('*') || resources.has(wanted)) return true
  const slash = wanted.indexOf('/')
  return slash >= 0 && resources.has(`*${wanted.slice(slash)}`)
}

/** A rule without names covers every name; one with names covers only those. */
function coversNames(names: ReadonlySet<string>, wanted: readonly string[] = []): boolean {
  return names.size === 0 || (wanted.length > 0 && wanted.every((name) => names.has(name)))
}
