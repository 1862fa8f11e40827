import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { BoundedMap } from '../kube/basics/bounded-map.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import { limits } from '../parsing/limits.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { parsingThread } from '../parsing/parsing-thread.ts'
import type { ReleaseText } from './release-text.ts'

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

/** A record, and what the manifests in it say. */
export interface ReadRelease extends ReleaseRecord {
  readonly parsed: {
    readonly objects: readonly KubeObject[]
    /** Of each hook, in the order of `hooks`. */
    readonly hooks: readonly (readonly KubeObject[])[]
  }
}

/** The label selector of a release's records, the same for Secrets and ConfigMaps. */
export const releaseLabels = (release: string): string => `owner=helm,name=${release}`

/** Reads the record in a Secret or ConfigMap, in the parsing thread; throws ParseRefusal when it is not one or is too large. */
export async function readRelease(holder: StoredObject): Promise<ReadRelease> {
  const key = `${holder.metadata.uid}/${holder.metadata.resourceVersion}`
  const before = refused.get(key)
  if (before) throw before
  const { release } = (holder.data ?? {}) as { release?: unknown }
  try {
    return await parsingThread.read<ReadRelease>({
      reader: 'helm-release',
      input: { kind: holder.kind, release } satisfies ReleaseText,
      timeMs: limits.helmRecord.timeMs,
    })
  } catch (error) {
    if (error instanceof ParseRefusal && error.isFinal) refused.set(key, error)
    throw error
  }
}

/** Records that were refused, by uid and version: they cost a thread's time once, not at every reconcile. */
const refused = new BoundedMap<string, ParseRefusal>(1000)

/** Encodes a changed record for the Secret or ConfigMap that holds it. */
export async function encodeRelease({ parsed: _, ...record }: EncodedRelease, holder: KubeObject): Promise<string> {
  const text = (await compress(JSON.stringify(record))).toString('base64')
  return holder.kind === 'Secret' ? Buffer.from(text, 'latin1').toString('base64') : text
}

type EncodedRelease = ReleaseRecord & Partial<Pick<ReadRelease, 'parsed'>>

const compress = promisify(gzip)

/** The revision of a record, by its label. */
export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.labels?.version ?? 0)
}
