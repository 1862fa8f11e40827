import type { Departure } from '../../apis/departure.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'

/** Annotation of a restored object: record and old uid. By it a repeated restore finds what it has already created. */
export const restoredFrom = 'sojourn.dev/restored-from'

/** Adds the annotation to a manifest. */
export function marked(manifest: KubeObject, { metadata }: Departure, { uid }: PageLine): KubeObject {
  const annotations = { ...manifest.metadata.annotations, [restoredFrom]: `${metadata.name}/${uid}` }
  return { ...manifest, metadata: { ...manifest.metadata, annotations } }
}

/** Whether a restore created this object from the one that had this uid. */
export function isRestoredFrom({ metadata }: StoredObject, uid: string): boolean {
  return metadata.annotations?.[restoredFrom]?.endsWith(`/${uid}`) ?? false
}
