import type { Departure } from '../../apis/departure.ts'
import { describeRef, refOf, type OwnerReference } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'
import { isSecret } from '../records/record.ts'

/** What a person still has to do, or should know, about what is back. */
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
    if (isSecret(manifest)) return `${ref} is back without its data, which records do not keep: fill it in again`
    const { volumeName } = (manifest.spec ?? {}) as { readonly volumeName?: string }
    if (manifest.kind !== 'PersistentVolumeClaim' || !volumeName) return []
    return `${ref} asks for PersistentVolume ${volumeName}, which it had: if that waits as Released, take spec.claimRef off it; if it is gone, make the claim again without spec.volumeName`
  })
}

/** What was somebody's who has gone since stays as nobody's. */
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
    return `${describeRef(refOf(manifest))} is back without its owner ${owners}, which is not there any more`
  })
}

function rootNote({ spec }: Departure): readonly string[] {
  if (spec.manifest) return []
  return [
    `${describeRef(spec.object)} itself is not back, its manifest is not in the record: what it owned is back without it as an owner`,
  ]
}

function deciderNote({ spec }: Departure): readonly string[] {
  const { object: rule } = spec.by
  const went = rule?.namespace === spec.object.name && spec.object.kind === 'Namespace'
  return rule && went ? [`${describeRef(rule)}, which let it leave, is not back: apply it again when it shall be`] : []
}
