import type { Bond, BondSpec } from '../apis/bond.ts'
import type { StoredObject } from '../kube/object.ts'

/** What Bonds mean for an object that needs something, or is needed. Holding and denying is told by what protects it. */
export function explainBonds({ metadata: { uid } }: StoredObject, bonds: readonly Bond[]): readonly string[] {
  return bonds.flatMap((bond) => {
    const { spec, status } = bond
    if (status?.phase === 'Released') return []
    if (status?.dependentUids?.includes(uid)) return [`${named(bond)}: ${forDependent(spec)}`]
    const takes = status?.dependencyUid === uid && spec.onDelete === 'Cascade' && (status.dependents ?? 0) > 0
    return takes ? [`${named(bond)}: before it goes, ${dependentOf(spec)} goes`] : []
  })
}

/** What a Bond bondEdges together. */
export function explainBond({ spec }: Bond): readonly string[] {
  return [`It says that ${dependentOf(spec)} needs ${dependencyOf(spec)}: ${meanings[spec.onDelete]}`]
}

const meanings: Readonly<Record<BondSpec['onDelete'], string>> = {
  Cascade: 'when that is to go, the dependent goes first',
  Orphan: 'when that goes, the dependent stays',
  Hold: 'that waits until the dependent is gone',
  Deny: 'that cannot be deleted while the dependent is there',
}

function forDependent(spec: BondSpec): string {
  const needed = dependencyOf(spec)
  switch (spec.onDelete) {
    case 'Cascade':
      return `it goes when ${needed} is to go`
    case 'Orphan':
      return `it stays when ${needed} goes`
    case 'Hold':
      return `${needed} cannot go before it`
    case 'Deny':
      return `${needed} cannot be deleted while it is there`
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
