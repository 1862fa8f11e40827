import type { Departure } from '../../apis/departure.ts'
import { describeRef, refOf, type KubeObject, type OwnerReference, type StoredObject } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'
import { isSecret } from '../records/record.ts'
import { isEndedCleaner } from './restore-set.ts'

/** What the user still has to do, or should know, after a restore. */
export function restoreNotes(
  record: Departure,
  back: readonly PageLine[],
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
  const others = back.filter(({ manifest }) => manifest.kind === spec.object.kind).length - 1
  const which = others > 0 ? `${describeRef(spec.object)}, with ${others} more,` : describeRef(spec.object)
  return [`${which} was restored suspended: set spec.suspend to false once it may delete again`]
}

/** A Service gets new addresses: clients that kept the old ones, and DNS records of others, must be told. */
export function addressNotes(record: Departure, made: readonly StoredObject[]): readonly string[] {
  const { manifest, object } = record.spec as unknown as { manifest?: KubeObject; object: { kind: string } }
  const { clusterIP: before } = (manifest?.spec ?? {}) as { readonly clusterIP?: string }
  if (object.kind !== 'Service' || !before || before === 'None') return []
  return made
    .filter((each) => each.kind === 'Service' && each.metadata.name === manifest?.metadata.name)
    .flatMap((each) => {
      const { clusterIP: now } = each.spec as { readonly clusterIP?: string }
      return now === before ? [] : [`${describeRef(refOf(each))} has clusterIP ${now} now; it was ${before}`]
    })
}

function contentNotes(lines: readonly PageLine[]): readonly string[] {
  return lines.flatMap(({ manifest }) => {
    const ref = describeRef(refOf(manifest))
    if (isHelmRecord(manifest))
      return `${ref}: the Helm release was restored without its values and the data of its Secrets: pass the values again to the next helm upgrade`
    if (isSecret(manifest)) return `${ref} was restored without its data, which records do not keep: set it again`
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
