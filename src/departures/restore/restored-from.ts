import type { Departure } from '../../apis/departure.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { PageLine } from '../records/pages.ts'

/** Put on what comes back: the record, and the uid it had. A restore that was cut off finds by it what it has already made. */
const restoredFrom = 'sojourn.dev/restored-from'

/** A manifest that says of what it is brought back. */
export function marked(manifest: KubeObject, { metadata }: Departure, { uid }: PageLine): KubeObject {
  const annotations = { ...manifest.metadata.annotations, [restoredFrom]: `${metadata.name}/${uid}` }
  return { ...manifest, metadata: { ...manifest.metadata, annotations } }
}

/** Whether something is what a restore has made of the object that had this uid. */
export function isRestoredFrom({ metadata }: StoredObject, uid: string): boolean {
  return metadata.annotations?.[restoredFrom]?.endsWith(`/${uid}`) ?? false
}
