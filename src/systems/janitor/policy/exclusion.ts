import type { ExclusionSpec } from '../../../apis/cleanup-policy.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import { attributeOf, valueMatcher, type Described, type ValueMatcher } from '../model/attribute.ts'
import type { Exclusion } from '../model/because.ts'
import type { Problem } from '../rules/rule-tree.ts'

/** Why a resource is excluded; undefined when no exclusion applies to it. */
export type Excluder = (described: Described) => { readonly because: Exclusion; readonly detail: string } | undefined

interface Attribute {
  readonly key: string
  readonly matches: ValueMatcher
}

/** Compiles exclusions. Any one excludes a resource, even if an allowlist names it. */
export function compileExclusions(exclusions: readonly ExclusionSpec[], problems: Problem[]): Excluder {
  const compiled = exclusions.flatMap((exclusion, index): readonly { kind: string; excluder: Excluder }[] => {
    const field = `spec.exclusions[${index}]`
    const kind = exclusion.type.toLowerCase().replace('whitelist', 'allowlist')
    const attributes = compileAttributes(exclusion, field, problems)
    const excluder = excluderOf(kind, { exclusion, attributes, field, problems })
    if (needsAttributes(kind) && !exclusion.attributes?.length)
      problems.push({ field: `${field}.attributes`, problem: 'must not be empty: the exclusion would protect nothing' })
    if (!excluder) problems.push({ field: `${field}.type`, problem: `unknown exclusion type "${exclusion.type}"` })
    return excluder ? [{ kind, excluder }] : []
  })
  const allowlists = compiled.filter(({ kind }) => kind === 'allowlist')
  const others = compiled.filter(({ kind }) => kind !== 'allowlist')
  return (described) => {
    for (const { excluder } of others) {
      const excluded = excluder(described)
      if (excluded) return excluded
    }
    // All allowlists are combined: a resource type's and its provider's list extend each other.
    const allowed = allowlists.length === 0 || allowlists.some(({ excluder }) => !excluder(described))
    return allowed ? undefined : { because: 'not-allowlisted', detail: 'no allowlist names it' }
  }
}

/** Whether no exclusion reads a resource's owner or use, which depend on other objects. */
export function readsObjectAlone(exclusions: readonly ExclusionSpec[]): boolean {
  return exclusions.every(({ attributes = [] }) => attributes.every(({ key }) => !decidedElsewhere.has(key)))
}

const decidedElsewhere = new Set(['swabbieResourceOwner', 'resourceOwner', 'owner', 'inUse', 'email'])

/** Exclusions that protect nothing without attributes. An empty allowlist excludes everything, which is safe. */
function needsAttributes(kind: string): boolean {
  return kind === 'literal' || kind === 'account' || kind === 'application' || kind === 'tag'
}

interface ExclusionParts {
  readonly exclusion: ExclusionSpec
  readonly attributes: readonly Attribute[]
  readonly field: string
  readonly problems: Problem[]
}

function excluderOf(kind: string, parts: ExclusionParts): Excluder | undefined {
  const { attributes } = parts
  switch (kind) {
    case 'literal':
      return anyAttribute('literal', attributes, attributeOf)
    case 'allowlist':
      return (described) =>
        attributes.some(({ key, matches: fits }) => fits(attributeOf(described, key)))
          ? undefined
          : { because: 'not-allowlisted', detail: 'no allowlist names it' }
    case 'account':
      return anyAttribute('account', attributes, accountAttribute)
    case 'application':
      return anyAttribute('application', attributes, applicationAttribute)
    case 'tag':
      return anyAttribute('tag', attributes, ({ resource }, key) => ownTag(resource.tags, key))
    case 'naive':
      return () => undefined
    case 'labelselector':
      return labelExcluder(parts)
    default:
      return undefined
  }
}

function labelExcluder({ exclusion, field, problems }: ExclusionParts): Excluder {
  try {
    if (!exclusion.labelSelector) throw new Error('labelSelector is required')
    const requirements = requirementsOf(exclusion.labelSelector)
    return ({ resource }) =>
      matches(requirements, resource.labels) ? { because: 'label', detail: 'its labels are excluded' } : undefined
  } catch (error) {
    problems.push({ field: `${field}.labelSelector`, problem: (error as Error).message })
    return () => undefined
  }
}

function compileAttributes({ attributes = [], type }: ExclusionSpec, field: string, problems: Problem[]): Attribute[] {
  const isTag = type.toLowerCase() === 'tag'
  return attributes.flatMap(({ key, value }, index) => {
    try {
      return [{ key, matches: isTag ? exactMatcher(value) : valueMatcher(value) }]
    } catch (error) {
      problems.push({ field: `${field}.attributes[${index}].value`, problem: (error as Error).message })
      return []
    }
  })
}

/** Matches tags exactly; a boolean or number in the list matches its text. */
function exactMatcher(values: readonly unknown[]): ValueMatcher {
  const texts = new Set(values.map(String))
  return (property) => typeof property === 'string' && texts.has(property)
}

function anyAttribute(
  because: Exclusion,
  attributes: readonly Attribute[],
  read: (described: Described, key: string) => unknown,
): Excluder {
  return (described) => {
    const found = attributes.find(({ key, matches: fits }) => fits(read(described, key)))
    return found ? { because, detail: `its ${found.key} is excluded` } : undefined
  }
}

function ownTag(tags: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(tags, key) ? tags[key] : undefined
}

function accountAttribute({ resource }: Described, key: string): unknown {
  if (key === 'name' || key === 'account') return resource.account
  if (key === 'type' || key === 'cloudProvider') return resource.provider
  return resource.facts?.[`account.${key}`] ?? (key === 'accountId' ? resource.facts?.accountId : undefined)
}

/** An attribute of the resource's application. Resources grouped by package have none. */
function applicationAttribute(described: Described, key: string): unknown {
  const { resource } = described
  if (resource.facts?.grouping === 'package') return undefined
  if (key === 'name' || key === 'application') return resource.group
  if (key === 'email') return resource.facts?.applicationEmail ?? described.owner()
  return resource.facts?.[`application.${key}`]
}
