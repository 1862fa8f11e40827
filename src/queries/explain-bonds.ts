import type { Bond, BondSpec } from '../apis/bond.ts'
import type { StoredObject } from '../kube/object.ts'

/** What Bonds mean for their dependents, and for a dependency with Cascade. Hold and Deny are among its protections. */
export function explainBonds({ metadata: { uid } }: StoredObject, bonds: readonly Bond[]): readonly string[] {
  return bonds.flatMap((bond) => {
    const { spec, status } = bond
    if (status?.phase === 'Released') return []
    if (status?.dependentUids?.includes(uid)) return [`${named(bond)}: ${forDependent(spec)}`]
    const takes = status?.dependencyUid === uid && spec.onDelete === 'Cascade' && (status.dependents ?? 0) > 0
    return takes ? [`${named(bond)}: ${dependentOf(spec)} is deleted before it`] : []
  })
}

/** What a Bond bondEdges together. */
export function explainBond({ spec }: Bond): readonly string[] {
  return [`${dependentOf(spec)} depends on ${dependencyOf(spec)}: ${meanings[spec.onDelete]}`]
}

const meanings: Readonly<Record<BondSpec['onDelete'], string>> = {
  Cascade: 'when the dependency is deleted, the dependent is deleted first',
  Orphan: 'the dependent is kept when the dependency is deleted',
  Hold: 'the deletion of the dependency waits until the dependent is gone',
  Deny: 'the dependency cannot be deleted while the dependent exists',
}

function forDependent(spec: BondSpec): string {
  const needed = dependencyOf(spec)
  switch (spec.onDelete) {
    case 'Cascade':
      return `it is deleted before ${needed} is`
    case 'Orphan':
      return `it is kept when ${needed} is deleted`
    case 'Hold':
      return `the deletion of ${needed} waits for it`
    case 'Deny':
      return `${needed} cannot be deleted while it exists`
  }
}

function named({ metadata, spec }: Bond): string {
  return `Bond ${metadata.namespace}/${metadata.name}${spec.reason ? ` (${spec.reason})` : ''}`
}

function dependentOf({ dependent }: BondSpec): string {
  const kind = dependent.kind.toLowerCase()
  return dependent.name ? `${kind}/${dependent.name}` : `every ${kind} it selects`
}

function dependencyOf({ dependency }: BondSpec): string {
  const { cluster, kind, namespace, name } = dependency
  const place = `${namespace ? ` in ${namespace}` : ''}${cluster ? ` of cluster ${cluster}` : ''}`
  return `${kind.toLowerCase()}/${name}${place}`
}
