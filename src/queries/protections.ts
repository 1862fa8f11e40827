import type { Bond } from '../apis/bond.ts'
import { refusesDeletion } from '../apis/bond-guard.ts'
import type { CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import { refusals, sentenceOf } from '../departures/door/because.ts'
import { isLiveOptOut, optOutCovers, protectionOf } from '../departures/door/protection.ts'
import type { StoredObject } from '../kube/object.ts'

/** Everything that protects an object from deletion, a sentence each. */
export function protectionsOf(
  object: StoredObject,
  { optOuts, bonds, now }: { readonly optOuts: readonly CleanupOptOut[]; readonly bonds: readonly Bond[]; now: number },
): readonly string[] {
  const carried = protectionOf(object, { cluster: '', optOuts: [], bonds: [], now })
  const guarding = bonds.filter((bond) => isGuardedBy(object, bond))
  const optedOut = optOuts.filter(
    (optOut) => isLiveOptOut(optOut, now) && optOutCovers(optOut.spec, { object, cluster: '' }),
  )
  const sentences = [
    ...(carried ? [sentenceOf(carried)] : []),
    ...optedOut.map(optOutSentence),
    ...guarding.flatMap((bond) => bondSentence(object, bond, now)),
  ]
  return [...new Set(sentences)]
}

function isGuardedBy(object: StoredObject, bond: Bond): boolean {
  const { status } = bond
  return (status?.phase === 'Active' && status.dependencyUid === object.metadata.uid) || refusesDeletion(bond, object)
}

function bondSentence(object: StoredObject, bond: Bond, now: number): readonly string[] {
  const itself = bond.status?.dependencyUid === object.metadata.uid
  const protection = itself && protectionOf(object, { cluster: '', optOuts: [], bonds: [bond], now })
  const isBonds = protection && (protection.because === 'bond-denies' || protection.because === 'bond-holds')
  if (isBonds) return [sentenceOf(protection)]
  const { metadata, spec } = bond
  const reason = spec.reason ? `: ${spec.reason}` : ''
  return itself
    ? []
    : [`it contains an object that others depend on (Bond ${metadata.namespace}/${metadata.name}${reason})`]
}

function optOutSentence({ metadata, spec }: CleanupOptOut): string {
  const { reason, requestedBy, expiresAt } = spec
  const facts = [`CleanupOptOut ${metadata.name}`, ...(requestedBy ? [`by ${requestedBy}`] : [])].join(' ')
  const until = expiresAt ? `, until ${expiresAt}` : ''
  return `${refusals['opted-out']} (${facts}${reason ? `: ${reason}` : ''})${until}`
}
