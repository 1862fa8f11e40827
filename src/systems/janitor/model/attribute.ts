import { RE2JS } from 're2js'
import type { Resource } from './resource.ts'

/** A resource together with its owner, which is resolved on demand. */
export interface Described {
  readonly resource: Resource
  /** Addresses of its owner, comma-joined; undefined when no owner is known. */
  readonly owner: () => string | undefined
}

/** A property of a resource, by Swabbie's name for it or by its path in the object. Undefined when it has none. */
export function attributeOf({ resource, owner }: Described, key: string): unknown {
  const { facts } = resource
  if (facts && Object.hasOwn(facts, key)) return facts[key]
  switch (key) {
    case 'name':
    case 'resourceId':
    case 'id':
      return resource.name
    case 'resourceType':
    case 'kind':
      return resource.kind
    case 'cloudProvider':
    case 'provider':
      return resource.provider
    case 'account':
    case 'accountId':
      return resource.account
    case 'region':
    case 'location':
      return resource.region ?? resource.cluster
    case 'namespace':
      return resource.namespace
    case 'uid':
      return resource.uid
    case 'swabbieResourceOwner':
    case 'resourceOwner':
    case 'owner':
      return owner()
    case 'inUse':
      return resource.use.state === 'unknown' ? undefined : resource.use.state === 'used'
    default:
      return tagOf(resource, key) ?? pathIn(resource.object, key)
  }
}

/** Whether a property has one of the values. */
export type ValueMatcher = (property: unknown) => boolean

/** Compiles values: equal, `pattern:<regex>` found in it, or one of its comma-separated parts. Throws on a bad regex. */
export function valueMatcher(values: readonly unknown[]): ValueMatcher {
  if (values.length === 1 && (values[0] === '\\*' || values[0] === '*')) return (property) => property !== undefined
  const matchers = values.map(oneValueMatcher)
  return (property) => {
    if (property === undefined || property === null) return false
    if (Array.isArray(property)) return property.some((item) => matchers.some((matches) => matches(item)))
    return matchers.some((matches) => matches(property))
  }
}

const patternPrefix = 'pattern:'

function oneValueMatcher(value: unknown): ValueMatcher {
  if (typeof value !== 'string') return (property) => property === value
  if (value.startsWith(patternPrefix)) {
    const pattern = RE2JS.compile(value.slice(patternPrefix.length))
    return (property) => typeof property === 'string' && pattern.matcher(property).find()
  }
  return (property) =>
    property === value ||
    (typeof property === 'string' &&
      property.includes(',') &&
      property.split(',').some((part) => part.trim() === value))
}

function tagOf({ tags }: Resource, key: string): string | undefined {
  const name = key.startsWith('tags.') ? key.slice('tags.'.length) : undefined
  return name !== undefined && Object.hasOwn(tags, name) ? tags[name] : undefined
}

/** Follows `spec.type` or `metadata.labels.app`; a key with dots in it is found too. */
function pathIn(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, path)) return (value as Record<string, unknown>)[path]
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const head = path.slice(0, dot)
    if (!Object.hasOwn(value, head)) continue
    const found = pathIn((value as Record<string, unknown>)[head], path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}
