import { gunzipSync, gzipSync } from 'node:zlib'
import type { KubeObject } from '../../../kube/object.ts'

/** A hook of a chart, as a release records it. */
export interface ReleaseHook {
  readonly name: string
  readonly kind: string
  readonly manifest: string
  readonly events: readonly string[]
  readonly weight?: number
  readonly delete_policies?: readonly string[]
}

/** What Helm records of one revision of a release. Other fields are preserved. */
export interface ReleaseRecord {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly manifest: string
  readonly hooks: readonly ReleaseHook[]
  readonly info: { readonly status: string }
}

/** The label selector of a release's records, the same for Secrets and ConfigMaps. */
export const releaseLabels = (release: string): string => `owner=helm,name=${release}`

/** Decodes the record in a Secret or ConfigMap; throws when it is not one. */
export function decodeRelease(holder: KubeObject): ReleaseRecord {
  const { release } = (holder.data ?? {}) as { release?: string }
  if (!release) throw new Error(`${holder.kind} ${holder.metadata.name} has no data.release`)
  // Helm's driver writes base64; a Secret encodes that in base64 again.
  const text = holder.kind === 'Secret' ? Buffer.from(release, 'base64').toString('latin1') : release
  const bytes = Buffer.from(text, 'base64')
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b
  const record = JSON.parse(
    (isZipped ? gunzipSync(bytes, { maxOutputLength: maxRecordSize }) : bytes).toString('utf8'),
  ) as Partial<ReleaseRecord>
  if (typeof record.name !== 'string' || typeof record.manifest !== 'string')
    throw new Error(`${holder.kind} ${holder.metadata.name} does not hold a release record`)
  return {
    ...record,
    namespace: record.namespace ?? '',
    version: record.version ?? 0,
    hooks: record.hooks ?? [],
    info: record.info ?? { status: 'unknown' },
  } as ReleaseRecord
}

/** Encodes a changed record for the Secret or ConfigMap that holds it. */
export function encodeRelease(record: ReleaseRecord, holder: KubeObject): string {
  const text = gzipSync(JSON.stringify(record)).toString('base64')
  return holder.kind === 'Secret' ? Buffer.from(text, 'latin1').toString('base64') : text
}

/** The revision of a record, by its label. */
export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.labels?.version ?? 0)
}

const maxRecordSize = 64 * 1024 * 1024
