import { BoundedMap } from './basics/bounded-map.ts'
import type { ObjectMeta } from './object.ts'

/** Where a cache that drops managed fields, which take more room than most objects, still says who came first. */
const noted = Symbol('creator')

/** Who first wrote an object, by its managed fields or by what was noted of them. */
export function creatorOf(metadata: ObjectMeta): string | undefined {
  return (metadata as { readonly [noted]?: string })[noted] ?? firstManager(metadata.managedFields)
}

/** Metadata without managed fields that still knows the creator; the property is hidden from readers and from JSON. */
export function withoutManagedFields<M extends ObjectMeta>({
  managedFields,
  ...metadata
}: M): Omit<M, 'managedFields'> {
  const creator = firstManager(managedFields)
  if (creator !== undefined) Object.defineProperty(metadata, noted, { value: shared(creator) })
  return metadata
}

function firstManager(managedFields: readonly unknown[] = []): string | undefined {
  const entries = managedFields as readonly { readonly manager?: string; readonly time?: string }[]
  const [first, ...others] = entries
  return others.reduce((oldest, entry) => ((entry.time ?? '') < (oldest?.time ?? '') ? entry : oldest), first)?.manager
}

/** A hundred thousand objects have a handful of creators: each name is kept once. */
function shared(name: string): string {
  const known = names.get(name)
  if (known !== undefined) return known
  names.set(name, name)
  return name
}

const names = new BoundedMap<string, string>(1000)
