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

/** The parts of `wanted` that no rule of `held` covers, each as a rule of one verb, group, resource and name. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap(breakdown).filter((part) => !held.some((rule) => covers(rule, part)))
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
function breakdown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = []
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs ?? []) parts.push({ verbs: [verb], nonResourceURLs: [url] })
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] }
        if (rule.resourceNames?.length) {
          for (const name of rule.resourceNames) parts.push({ ...part, resourceNames: [name] })
        } else parts.push(part)
      }
    }
  }
  return parts
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  if (!coversAll(rule.verbs, part.verbs)) return false
  if (part.nonResourceURLs?.length) {
    return part.nonResourceURLs.every((url) => rule.nonResourceURLs?.some((pattern) => pathMatches(pattern, url)))
  }
  return (
    coversAll(rule.apiGroups, part.apiGroups) &&
    (part.resources ?? []).every((resource) => coversResource(rule.resources ?? [], resource)) &&
    coversNames(rule.resourceNames, part.resourceNames)
  )
}

function coversAll(list: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return list.includes('*') || wanted.every((value) => list.includes(value))
}

function coversResource(resources: readonly string[], wanted: string): boolean {
  if (resources.includes('*') || resources.includes(wanted)) return true
  const slash = wanted.indexOf('/')
  return slash >= 0 && resources.includes(`*${wanted.slice(slash)}`)
}

/** A rule without names covers every name; one with names covers only those. */
function coversNames(names: readonly string[] = [], wanted: readonly string[] = []): boolean {
  if (names.length === 0) return true
  return wanted.length > 0 && wanted.every((name) => names.includes(name))
}
