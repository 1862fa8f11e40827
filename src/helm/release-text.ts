import type { KubeObject } from '../kube/object.ts'
import { checkTree } from '../parsing/check-tree.ts'
import { limits } from '../parsing/limits.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { unzip } from '../parsing/unzip.ts'
import { readYaml } from '../parsing/yaml-text.ts'
import type { ReadRelease, ReleaseHook, ReleaseRecord } from './release-record.ts'

/** A record as its holder has it. */
export interface ReleaseText {
  readonly kind: string
  readonly release: unknown
}

/** Reads a record and the manifests in it; throws ParseRefusal. Any tenant of a namespace can write one. */
export function read({ kind, release }: ReleaseText): ReadRelease {
  if (typeof release !== 'string' || release === '') throw new ParseRefusal('syntax', 'it has no data.release')
  const record = recordIn(textOf(kind, release))
  const budget = { documents: limits.helmManifest.documents }
  const objectsIn = (manifest: string) => objectsOf(manifest, budget)
  return {
    ...record,
    parsed: { objects: objectsIn(record.manifest), hooks: record.hooks.map(({ manifest }) => objectsIn(manifest)) },
  }
}

/** Helm's driver writes base64; a Secret encodes that in base64 again. */
function textOf(kind: string, release: string): string {
  const { bytes, unzippedBytes } = limits.helmRecord
  if (release.length > bytes) throw new ParseRefusal('bytes', `it is larger than ${bytes} bytes`)
  const written = kind === 'Secret' ? Buffer.from(release, 'base64').toString('latin1') : release
  const content = Buffer.from(written, 'base64')
  const isZipped = content[0] === 0x1f && content[1] === 0x8b
  return (isZipped ? unzip(content, unzippedBytes) : content).toString('utf8')
}

function recordIn(text: string): ReleaseRecord {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ParseRefusal('syntax', 'it does not hold JSON', { cause: error })
  }
  checkTree(value, { ...limits.helmRecord, bytes: limits.helmRecord.unzippedBytes })
  const { name, manifest, hooks, namespace, version, info } = (value ?? {}) as Partial<ReleaseRecord>
  if (typeof name !== 'string' || typeof manifest !== 'string')
    throw new ParseRefusal('syntax', 'it does not hold a release record')
  return {
    ...(value as object),
    name,
    manifest,
    namespace: typeof namespace === 'string' ? namespace : '',
    version: Number(version ?? 0),
    hooks: hooksIn(hooks),
    info: typeof info?.status === 'string' ? info : { status: 'unknown' },
  }
}

const mostHooks = 200

function hooksIn(hooks: unknown): readonly ReleaseHook[] {
  if (hooks === undefined || hooks === null) return []
  if (!Array.isArray(hooks)) throw new ParseRefusal('syntax', 'its hooks are not a list')
  if (hooks.length > mostHooks) throw new ParseRefusal('nodes', `it has more than ${mostHooks} hooks`)
  const isHook = (hook: Partial<ReleaseHook> | null) =>
    typeof hook?.manifest === 'string' && Array.isArray(hook.events) && typeof hook.name === 'string'
  if (!hooks.every(isHook)) throw new ParseRefusal('syntax', 'one of its hooks has no name, manifest or events')
  return hooks as readonly ReleaseHook[]
}

/** Every object of a stream of YAML documents; Lists are replaced by their items. All manifests of a record share the limit of documents. */
function objectsOf(manifest: string, budget: { documents: number }): readonly KubeObject[] {
  const { documents } = readYaml(manifest, { ...limits.helmManifest, ...budget })
  budget.documents -= documents.length
  return documents.flatMap(unfold)
}

function unfold(value: unknown): readonly KubeObject[] {
  if (typeof value !== 'object' || value === null) return []
  const object = value as Partial<KubeObject> & { readonly items?: readonly unknown[] }
  if (typeof object.kind !== 'string') return []
  if (object.kind.endsWith('List') && Array.isArray(object.items)) return object.items.flatMap(unfold)
  return typeof object.metadata?.name === 'string' ? [object as KubeObject] : []
}
