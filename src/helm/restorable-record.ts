import type { KubeObject, StoredObject } from '../kube/object.ts'
import { encodeRelease, readRelease, type ReadRelease } from './release-record.ts'

/**
 * What the Departure of a Helm record keeps, so that after a restore `helm status` and `helm rollback` read it: the release as it was before the uninstall
 * began, without values, templates, files and the data of Secrets, all of which may hold credentials (`recordAs`), and complete, for records that are encrypted
 * (`sealAs`). Empty when it cannot be read.
 */
export async function restorableRecord(
  holder: StoredObject,
  { isNewest }: { readonly isNewest: boolean },
): Promise<{ readonly recordAs?: StoredObject; readonly sealAs?: StoredObject }> {
  const record = await readRelease(holder).catch(() => undefined)
  if (!record) return {}
  const isEnded = isNewest && ['uninstalling', 'uninstalled'].includes(record.info.status)
  const status = isEnded ? 'deployed' : record.info.status
  const { labels } = holder.metadata
  const metadata = { ...holder.metadata, labels: { ...labels, status } }
  const { parsed: _, ...whole } = record
  const kept = await encodeRelease(withoutCredentials(record, status), holder)
  const complete = await encodeRelease({ ...whole, info: { ...whole.info, status } }, holder)
  return {
    recordAs: { ...holder, metadata, data: { release: kept } },
    sealAs: { ...holder, metadata, data: { release: complete } },
  }
}

function withoutCredentials({ parsed, ...record }: ReadRelease, status: string) {
  const { chart } = record as { chart?: { metadata?: unknown } }
  return {
    ...record,
    info: { ...withoutNotes(record.info), status },
    chart: { metadata: chart?.metadata ?? { name: record.name, version: '0.0.0', apiVersion: 'v2' } },
    config: {},
    manifest: textOf(parsed.objects),
    hooks: record.hooks.map((hook, index) => ({ ...hook, manifest: textOf(parsed.hooks[index] ?? []) })),
  }
}

/** The notes are rendered with the values. */
function withoutNotes(info: ReadRelease['info']): ReadRelease['info'] {
  const { notes: _, ...rest } = info as ReadRelease['info'] & { notes?: unknown }
  return rest
}

/** JSON is YAML. A Secret without data is left as it is by the three-way merge of a rollback. */
function textOf(objects: readonly KubeObject[]): string {
  return objects.map((object) => `---\n${JSON.stringify(withoutData(object))}\n`).join('')
}

function withoutData(object: KubeObject): KubeObject {
  if (object.kind !== 'Secret') return object
  const { data: _, stringData: __, ...rest } = object
  return rest
}
