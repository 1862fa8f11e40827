import type { Bond } from '../apis/bond.ts'
import { parseApiVersion } from '../kube/object.ts'

/**
 * The cycle of Deny Bonds that this Bond would close, as the objects on it from the dependent back to the dependent; empty when there is
 * none. In such a cycle no object could ever be deleted.
 */
export function denyCycle(added: Bond, others: readonly Bond[]): readonly string[] {
  const refusing = [...others.filter((other) => !isSame(other, added)), added].filter(isRefusal)
  const start = dependentOf(added)
  if (!isRefusal(added)) return []
  /** How each object was reached. */
  const from = new Map<string, string>()
  const open = [start]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const other of refusing) {
      const next = dependencyOf(other)
      if (dependentOf(other) !== at || from.has(next)) continue
      from.set(next, at)
      if (next === start) return pathTo(start, from)
      open.push(next)
    }
  }
  return []
}

function pathTo(start: string, from: ReadonlyMap<string, string>): readonly string[] {
  const path = [start]
  for (let at = from.get(start); at !== undefined && at !== start; at = from.get(at)) path.unshift(at)
  return [start, ...path]
}

function isRefusal({ spec }: Bond): boolean {
  return spec.onDelete === 'Deny' && spec.dependent.name !== undefined && !spec.dependency.cluster
}

function isSame({ metadata }: Bond, other: Bond): boolean {
  return metadata.namespace === other.metadata.namespace && metadata.name === other.metadata.name
}

function dependentOf({ spec, metadata }: Bond): string {
  return describe(spec.dependent, metadata.namespace, spec.dependent.name)
}

function dependencyOf({ spec, metadata }: Bond): string {
  return describe(spec.dependency, spec.dependency.namespace ?? metadata.namespace, spec.dependency.name)
}

function describe(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  namespace = '',
  name = '',
): string {
  const { group } = parseApiVersion(apiVersion)
  return `${group ? `${kind}.${group}` : kind} ${namespace}/${name}`
}
