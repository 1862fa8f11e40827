import type { CleanupPolicySpec, OwnerStrategySpec } from '../../../apis/cleanup-policy.ts'
import { creatorOf } from '../../../kube/creator.ts'
import { addressesIn } from '../../../notices/addresses.ts'
import type { Resource } from '../model/resource.ts'
import type { Problem } from '../rules/rule-tree.ts'

/** Whom to notify, and which strategy found them. Several addresses are comma-joined. */
export interface Owner {
  readonly address: string
  readonly source: string
}

/** What an owner strategy may read beside the resource itself. */
export interface OwnerSources {
  /** Labels and annotations of a namespace; undefined when it is unknown. */
  readonly namespaceTags?: (namespace: string) => Readonly<Record<string, string>> | undefined
  /** The owners of a resource by owner references, nearest first. */
  readonly ownersOf?: (resource: Resource) => readonly { readonly tags: Readonly<Record<string, string>> }[]
}

export type OwnerResolver = (resource: Resource, sources?: OwnerSources) => Owner | undefined

const defaultKeys = ['sojourn.dev/owner', 'owner', 'creator'] as const
const defaultStrategies: readonly OwnerStrategySpec[] = [
  { type: 'Tag' },
  { type: 'OwnerReference' },
  { type: 'NamespaceAnnotation' },
]

/** Compiles the owner strategies. All are asked: a primary's answer replaces the others, otherwise all are combined. */
export function compileOwner(owner: CleanupPolicySpec['owner'], problems: Problem[]): OwnerResolver {
  const strategies = owner?.strategies ?? defaultStrategies
  const fallback = owner?.default
  if (fallback !== undefined && addressesIn(fallback).length === 0)
    problems.push({ field: 'spec.owner.default', problem: `"${fallback}" is not an e-mail address` })
  return (resource, sources = {}) => {
    const answers = strategies.flatMap((strategy) => {
      const addresses = answersOf(strategy, resource, sources).flatMap(ownersIn)
      return addresses.length > 0 ? [{ strategy, addresses }] : []
    })
    const primary = answers.filter(({ strategy }) => strategy.primary)
    const chosen = primary.length > 0 ? primary : answers
    const addresses = [...new Set(chosen.flatMap((answer) => answer.addresses))]
    if (addresses.length > 0)
      return { address: addresses.join(','), source: chosen.map(({ strategy }) => strategy.type).join(',') }
    return fallback === undefined ? undefined : { address: addressesIn(fallback).join(','), source: 'default' }
  }
}

/**
 * The owner of a marked resource, given who is found now. The former owner stays when none, or only the policy's
 * default, is found: a namespace may have been unreadable.
 */
export function currentOwner(former: Owner | undefined, found: Owner | undefined): Owner | undefined {
  return !former || (found && found.source !== 'default') ? (found ?? former) : former
}

/** Whether an owner has addresses that the former one had not: those have not been notified yet. */
export function isNewOwner(former: Owner | undefined, now: Owner | undefined): boolean {
  const known = new Set(addressesIn(former?.address ?? ''))
  return addressesIn(now?.address ?? '').some((each) => !known.has(each))
}

/** The e-mail addresses that a tag or annotation names; none of a text with control characters, which could add mail headers. */
export function ownersIn(text: string): readonly string[] {
  return /\p{Cc}/u.test(text.trim()) ? [] : addressesIn(text)
}

function answersOf(strategy: OwnerStrategySpec, resource: Resource, sources: OwnerSources): readonly string[] {
  const { type, keys = defaultKeys, values = {} } = strategy
  switch (type) {
    case 'Tag':
    case 'Annotation':
      return valuesUnder(resource.tags, keys)
    case 'Label':
      return valuesUnder(resource.labels, keys)
    case 'NamespaceAnnotation':
      return resource.namespace ? valuesUnder(sources.namespaceTags?.(resource.namespace) ?? {}, keys) : []
    case 'OwnerReference': {
      const owners = sources.ownersOf?.(resource) ?? []
      return owners.map(({ tags }) => valuesUnder(tags, keys)).find((found) => found.length > 0) ?? []
    }
    case 'Creator':
      return creatorsOf(resource, values)
    case 'Map':
      return [...valuesUnder(resource.tags, keys), resource.namespace ?? '', resource.name]
        .flatMap((name) => lookUp(values, name))
        .slice(0, 1)
    case 'Application':
      return resource.group === undefined ? [] : lookUp(values, resource.group)
  }
}

/** The user who created the object, and the address that `values` gives for that user. */
function creatorsOf({ object }: Resource, values: Readonly<Record<string, string>>): readonly string[] {
  const creator = creatorOf(object.metadata)
  return creator === undefined ? [] : [...lookUp(values, creator), creator]
}

function lookUp(values: Readonly<Record<string, string>>, name: string): readonly string[] {
  const found = Object.hasOwn(values, name) ? values[name] : undefined
  return found === undefined ? [] : [found]
}

function valuesUnder(tags: Readonly<Record<string, string>>, keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => lookUp(tags, key))
}
