import type { Departure } from '../../apis/departure.ts'
import { describeRef, refOf, type KubeObject, type OwnerReference, type StoredObject } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'
import type { RestoredLine } from './data-opener.ts'
import { isSecret } from '../../kube/redact.ts'
import { isEndedCleaner } from './restore-set.ts'

/** What the user still has to do, or should know, after a restore. */
export function restoreNotes(
  record: Departure,
  back: readonly RestoredLine[],
  newUids: ReadonlyMap<string, string>,
): readonly string[] {
  return [
    ...rootNote(record),
    ...contentNotes(back),
    ...ownerNotes(record, back, newUids),
    ...deciderNote(record),
    ...cleanerNote(record, back),
  ]
}

function cleanerNote({ spec }: Departure, back: readonly PageLine[]): readonly string[] {
  if (!isEndedCleaner(spec)) return []
  const [first, ...others] = back.filter(({ manifest }) => manifest.kind === spec.object.kind)
  if (!first) return []
  const name = describeRef(refOf(first.manifest))
  return [
    `${others.length > 0 ? `${name}, with ${others.length} more,` : name} was restored suspended: set spec.suspend to false once it may delete again`,
  ]
}

/** A Service gets new addresses: clients that kept the old ones, and DNS records of others, must be told. */
export function addressNotes(
  back: readonly RestoredLine[],
  made: ReadonlyMap<string, StoredObject>,
): readonly string[] {
  return back.flatMap(({ uid, manifest, clusterIP: before }) => {
    const { clusterIP: now } = (made.get(uid)?.spec ?? {}) as { readonly clusterIP?: string }
    if (before === undefined || now === before) return []
    return [`${describeRef(refOf(manifest))} has clusterIP ${now} now; it was ${before}`]
  })
}

function contentNotes(lines: readonly RestoredLine[]): readonly string[] {
  return lines.flatMap(({ manifest, data }) => {
    const ref = describeRef(refOf(manifest))
    if (data?.isOpen) return []
    const why = data ? `: ${data.because}` : ', which records do not keep'
    if (isHelmRecord(manifest))
      return `${ref}: the Helm release was restored without its values and the data of its Secrets: pass the values again to the next helm upgrade`
    if (isSecret(manifest)) return `${ref} was restored without its data${why}: set it again`
    const { volumeName } = (manifest.spec ?? {}) as { readonly volumeName?: string }
    if (manifest.kind !== 'PersistentVolumeClaim' || !volumeName) return []
    return `${ref} claims PersistentVolume ${volumeName}, as before: if that volume is Released, remove its spec.claimRef; if it is gone, create the claim again without spec.volumeName`
  })
}

function isHelmRecord(manifest: KubeObject): boolean {
  const { release } = (manifest.data ?? {}) as { readonly release?: string }
  return manifest.metadata.labels?.owner === 'helm' && Boolean(release)
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
