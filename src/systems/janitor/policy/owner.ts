import type { CandidateStatus } from '../../../apis/cleanup-candidate.ts'
import type { CleanupPolicySpec, OwnerStrategySpec } from '../../../apis/cleanup-policy.ts'
import { creatorOf } from '../../../kube/creator.ts'
import { parseTime } from '../../../kube/time.ts'
import { addressesIn, distinctAddresses, maxOwners, ownersIn } from '../../../notices/addresses.ts'
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
      const found = distinctAddresses(answersOf(strategy, resource, sources).flatMap(ownersIn))
      // Counted by strategy: an annotation of a tenant must not hide the owner of the namespace.
      const addresses = found.slice(0, maxOwners)
      const source =
        found.length > maxOwners ? `${strategy.type} (${maxOwners} of ${found.length} addresses)` : strategy.type
      return addresses.length > 0 ? [{ strategy, addresses, source }] : []
    })
    const primary = answers.filter(({ strategy }) => strategy.primary)
    const chosen = primary.length > 0 ? primary : answers
    const addresses = distinctAddresses(chosen.flatMap((answer) => answer.addresses))
    if (addresses.length > 0)
      return { address: addresses.join(','), source: chosen.map(({ source }) => source).join(',') }
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

/** Whether an owner has addresses that the marked resource's former one had not, and that no notice of the mark has reached: those are notified first. */
export function isNewOwner({ owner, markedAt, notices = [] }: CandidateStatus, now: Owner | undefined): boolean {
  const since = parseTime(markedAt) ?? 0
  // An owner who was told stays told: owners that change to and fro are not mailed each time.
  const told = notices.flatMap(({ recipient, error, kind, at }) =>
    recipient !== undefined && error === undefined && kind !== 'copy' && (parseTime(at) ?? 0) >= since
      ? [recipient]
      : [],
  )
  const known = new Set([owner?.address ?? '', ...told].flatMap((each) => addressesIn(each.toLowerCase())))
  return addressesIn((now?.address ?? '').toLowerCase()).some((each) => !known.has(each))
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
