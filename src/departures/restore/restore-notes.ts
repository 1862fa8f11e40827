import type { Departure } from '../../apis/departure.ts'
import { describeRef, refOf, type OwnerReference } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'
import { isSecret } from '../records/record.ts'

/** What the user still has to do, or should know, after a restore. */
export function restoreNotes(
  record: Departure,
  back: readonly PageLine[],
  newUids: ReadonlyMap<string, string>,
): readonly string[] {
  return [...rootNote(record), ...contentNotes(back), ...ownerNotes(record, back, newUids), ...deciderNote(record)]
}

function contentNotes(lines: readonly PageLine[]): readonly string[] {
  return lines.flatMap(({ manifest }) => {
    const ref = describeRef(refOf(manifest))
    if (isSecret(manifest)) return `${ref} was restored without its data, which records do not keep: set it again`
    const { volumeName } = (manifest.spec ?? {}) as { readonly volumeName?: string }
    if (manifest.kind !== 'PersistentVolumeClaim' || !volumeName) return []
    return `${ref} claims PersistentVolume ${volumeName}, as before: if that volume is Released, remove its spec.claimRef; if it is gone, create the claim again without spec.volumeName`
  })
}

/** Owners that were not restored and do not exist any more are dropped from the owner references. */
function ownerNotes(
  { spec }: Departure,
  lines: readonly PageLine[],
  newUids: ReadonlyMap<string, string>,
): readonly string[] {
  return lines.flatMap(({ manifest }) => {
    const isGone = ({ uid }: OwnerReference) => uid !== spec.object.uid && !newUids.has(uid)
    const gone = (manifest.metadata.ownerReferences ?? []).filter(isGone)
    if (gone.length === 0) return []
    const owners = gone.map(({ kind, name }) => `${kind} ${name}`).join(', ')
    return `${describeRef(refOf(manifest))} was restored without its owner ${owners}, which no longer exists`
  })
}

function rootNote({ spec }: Departure): readonly string[] {
  if (spec.manifest) return []
  return [
    `${describeRef(spec.object)} itself was not restored, because the record has no manifest of it: its dependents were restored without this owner`,
  ]
}

function deciderNote({ spec }: Departure): readonly string[] {
  const { object: rule } = spec.by
  const went = rule?.namespace === spec.object.name && spec.object.kind === 'Namespace'
  return rule && went
    ? [`${describeRef(rule)}, which deleted it, was not restored: apply it again if you want it back`]
    : []
}
