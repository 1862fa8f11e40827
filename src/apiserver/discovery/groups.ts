import { apiVersionOf } from '../../kube/object.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'

/** One version of an API group, with the kinds served in it. */
export interface GroupVersion {
  readonly group: string
  readonly version: string
  readonly groupVersion: string
  readonly kinds: readonly ServedKind[]
}

/** An API group with its versions, the preferred version first. */
export interface Group {
  readonly name: string
  readonly versions: readonly GroupVersion[]
}

/**
 * The served kinds by group and version. The core group comes first, then built-in groups, then those of CRDs by
 * name.
 */
export function groupKinds(kinds: readonly ServedKind[]): readonly Group[] {
  const byGroup = Map.groupBy(kinds, ({ group }) => group)
  return [...byGroup]
    .map(([name, ofGroup]) => ({ name, versions: versionsOf(name, ofGroup), isCustom: ofGroup.every(isCustom) }))
    .toSorted((left, right) => Number(left.isCustom) - Number(right.isCustom) || compareCustom(left, right))
    .map(({ name, versions }) => ({ name, versions }))
}

/** Kubernetes' version priority: stable before beta before alpha, higher numbers first, other names last. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [rank(left), rank(right)]
  for (let index = 0; index < a.length; index++) {
    const difference = (b[index] ?? 0) - (a[index] ?? 0)
    if (difference !== 0) return difference
  }
  return left < right ? -1 : left > right ? 1 : 0
}

function rank(version: string): readonly number[] {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version)
  if (!match) return [0, 0, 0]
  const [, major, stage, minor] = match
  return [stage === undefined ? 3 : stage === 'beta' ? 2 : 1, Number(major), Number(minor ?? 0)]
}

function versionsOf(group: string, kinds: readonly ServedKind[]): GroupVersion[] {
  return [...Map.groupBy(kinds, ({ version }) => version)]
    .toSorted(([left], [right]) => compareVersions(left, right))
    .map(([version, ofVersion]) => ({
      group,
      version,
      groupVersion: apiVersionOf({ group, version }),
      kinds: ofVersion.toSorted((left, right) => (left.plural < right.plural ? -1 : 1)),
    }))
}

function isCustom({ custom }: ServedKind): boolean {
  return custom !== undefined
}

function compareCustom(left: { name: string; isCustom: boolean }, right: { name: string; isCustom: boolean }): number {
  if (!left.isCustom || !right.isCustom) return 0
  return left.name < right.name ? -1 : 1
}
