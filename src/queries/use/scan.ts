import type { Client } from '../../client/client.ts'
import { keyOf, kindKey } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import { detectionFor } from '../../systems/janitor/kubernetes/detection.ts'
import { detectedKinds } from '../../systems/janitor/kubernetes/detectors.ts'
import { KubeResource } from '../../systems/janitor/kubernetes/kube-resource.ts'
import { sentenceFor } from '../../systems/janitor/model/because.ts'
import type { Use } from '../../systems/janitor/model/resource.ts'
import { optOutFinder, protectionCheck } from '../../systems/janitor/verdict/protection.ts'
import { UseLists } from './use-lists.ts'

/** One object and whether it is in use, with the evidence. */
export interface ScannedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly verdict: Use['state']
  readonly reason: string
  readonly createdAt: string
}

export interface Scan {
  readonly objects: readonly ScannedObject[]
  /** Why the objects of a kind could not be listed. */
  readonly unread: readonly string[]
}

export interface ScanOptions {
  /** Only objects of this namespace are judged; what may refer to them is read everywhere. Defaults to all. */
  readonly namespace?: string | undefined
  readonly now: number
  readonly signal?: AbortSignal
  readonly onProgress?: (doing: string, done: number) => void
}

/** Judges the use of every object of the kinds that detectors know. Lists each kind once, and writes nothing. */
export async function scan(client: Client, options: ScanOptions): Promise<Scan> {
  const lists = new UseLists(client, options.signal)
  const objects: ScannedObject[] = []
  const unread: string[] = []
  const types = await detectedTypes(client)
  for (const [index, type] of types.entries()) {
    options.onProgress?.('scanning', index / types.length)
    if (options.namespace !== undefined && !type.namespaced) continue
    try {
      const found = (await lists.list(type)).filter((object) => isWanted(object, options))
      if (found.length > 0) objects.push(...judged(found, await detectionFor(type, lists), options.now))
    } catch (error) {
      unread.push((error as Error).message)
    }
  }
  const seen = new Set(types.map(kindKey))
  const others = (await lists.everything()).filter(
    (object) => !seen.has(keyOf(object).kind) && isWanted(object, options),
  )
  const stuck = others.flatMap((object) => stuckObject(object, options.now))
  return { objects: [...objects.map(unlessContentIsUsed(objects)), ...stuck], unread }
}

/** The served types of all kinds that have a detector, in the order of the detectors. */
async function detectedTypes(client: Client): Promise<readonly ResourceType[]> {
  const served = await client.discovery.all()
  const byKind = new Map(served.toReversed().map((type) => [kindKey(type), type]))
  return detectedKinds.flatMap((kind) => byKind.get(kind) ?? [])
}

function isWanted({ metadata }: StoredObject, { namespace }: ScanOptions): boolean {
  return namespace === undefined || metadata.namespace === namespace
}

function judged(
  objects: readonly StoredObject[],
  detect: (object: StoredObject) => Use,
  now: number,
): readonly ScannedObject[] {
  const protection = protectionCheck(optOutFinder([]), now)
  return objects.map((object) => {
    const resource = new KubeResource(object, { cluster: '', includeOwned: ownsItsHistory.has(object.kind), detect })
    const stuck = stuckReason(object, now)
    if (stuck !== undefined) return scanned(object, 'unused', stuck)
    const kept = protection(resource)
    if (kept) return scanned(object, 'used', sentenceFor(kept.because))
    if (resource.shield) return scanned(object, 'used', `in use by its owner ${resource.shield.detail}`)
    const { use } = resource
    return scanned(object, use.state, use.state === 'used' ? `in use by ${use.by}` : use.because)
  })
}

/** A namespace in which nothing runs is used while a ConfigMap or Secret in it is: deleting it would delete them. */
function unlessContentIsUsed(objects: readonly ScannedObject[]): (object: ScannedObject) => ScannedObject {
  const held = new Map<string, ScannedObject>()
  for (const object of objects)
    if (object.verdict === 'used' && /^(?:ConfigMap|Secret)$/.test(object.kind) && !isInEveryNamespace(object))
      held.set(object.namespace ?? '', object)
  return (object) => {
    const content = object.kind === 'Namespace' && object.verdict === 'unused' ? held.get(object.name) : undefined
    return content
      ? { ...object, verdict: 'used', reason: `${content.kind}/${content.name} in it is ${content.reason}` }
      : object
  }
}

function isInEveryNamespace({ name }: ScannedObject): boolean {
  return name === 'kube-root-ca.crt' || name === 'openshift-service-ca.crt'
}

/** Kinds whose objects outlive their use although their owner exists. */
const ownsItsHistory = new Set(['ReplicaSet', 'Job', 'Pod'])

function stuckObject(object: StoredObject, now: number): readonly ScannedObject[] {
  const reason = stuckReason(object, now)
  return reason === undefined ? [] : [scanned(object, 'unused', reason)]
}

/** A deletion that takes longer than this waits for a finalizer that no controller removes. */
const stuckAfterMs = 600_000

function stuckReason({ metadata, spec }: StoredObject, now: number): string | undefined {
  const requestedAt = parseTime(metadata.deletionTimestamp)
  const { finalizers: ofSpec = [] } = (spec ?? {}) as { finalizers?: readonly string[] }
  const finalizers = [...(metadata.finalizers ?? []), ...ofSpec]
  if (requestedAt === undefined || finalizers.length === 0 || now - requestedAt < stuckAfterMs) return undefined
  return `deletion requested ${formatAge(now - requestedAt)} ago; it waits for ${finalizers.join(', ')}`
}

function scanned(
  { apiVersion, kind, metadata: { namespace, name, creationTimestamp } }: StoredObject,
  verdict: Use['state'],
  reason: string,
): ScannedObject {
  return { apiVersion, kind, ...(namespace ? { namespace } : {}), name, verdict, reason, createdAt: creationTimestamp }
}
