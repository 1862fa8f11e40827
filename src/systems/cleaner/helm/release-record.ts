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

/** What Helm records of one revision of a release; more than this is kept as it is. */
export interface ReleaseRecord {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly manifest: string
  readonly hooks: readonly ReleaseHook[]
  readonly info: { readonly status: string }
}

/** Where Helm's drivers keep their records: type and name prefix are the same for both. */
export const releaseLabels = (release: string): string => `owner=helm,name=${release}`

/** Reads a record out of a Secret or a ConfigMap; throws when it cannot be read. */
export function decodeRelease(holder: KubeObject): ReleaseRecord {
  const { release } = (holder.data ?? {}) as { release?: string }
  if (!release) throw new Error(`${holder.kind} ${holder.metadata.name} holds no release`)
  // A Secret's value is base64 of what the driver wrote, which is base64 itself.
  const text = holder.kind === 'Secret' ? Buffer.from(release, 'base64').toString('latin1') : release
  const bytes = Buffer.from(text, 'base64')
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b
  const record = JSON.parse(
    (isZipped ? gunzipSync(bytes, { maxOutputLength: largestRecord }) : bytes).toString('utf8'),
  ) as Partial<ReleaseRecord>
  if (typeof record.name !== 'string' || typeof record.manifest !== 'string')
    throw new Error(`${holder.kind} ${holder.metadata.name} holds something other than a release`)
  return {
    ...record,
    namespace: record.namespace ?? '',
    version: record.version ?? 0,
    hooks: record.hooks ?? [],
    info: record.info ?? { status: 'unknown' },
  } as ReleaseRecord
}

/** The value to store for a changed record. */
export function encodeRelease(record: ReleaseRecord, holder: KubeObject): string {
  const text = gzipSync(JSON.stringify(record)).toString('base64')
  return holder.kind === 'Secret' ? Buffer.from(text, 'latin1').toString('base64') : text
}

/** The revision a holder is of, by its label. */
export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.labels?.version ?? 0)
}

const largestRecord = 64 * 1024 * 1024
