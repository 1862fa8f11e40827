import type { KubernetesTarget } from '../../../apis/cleanup-policy.ts'
import type { Client } from '../../../client/client.ts'
import { kindKey } from '../../../kube/key.ts'
import { apiVersionOf, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { unknownUse, InventoryError, type Use } from '../model/resource.ts'
import { aggregatedVersions, customReferences, customResidents, definedTypes } from './custom-references.ts'
import { detectorFor } from './detectors.ts'
import { type ClusterView, type Detector } from './references/detector.ts'
import type { MentionFinder } from './references/mentions.ts'
import { referrerTypes, type ReferrerKind } from './references/referrer-types.ts'

/** Where detectors read the cluster from: informers, or lists that are read once. */
export interface UseSource {
  readonly client: Client
  /** Defaults to Unknown. */
  readonly mode: KubernetesTarget['customReferences']
  /** All objects of a type; throws when they cannot be listed completely. */
  readonly list: (type: ResourceType) => Promise<readonly StoredObject[]>
  readonly mentions: (type: ResourceType) => Promise<MentionFinder>
}

/** Finds out whether objects of a type are in use. What the detector cannot read makes their use unknown. */
export async function detectionFor(type: ResourceType, source: UseSource): Promise<(object: StoredObject) => Use> {
  const detector = detectorFor(kindKey(type))
  if (!detector) return () => unknownUse(`no detector knows how a ${type.kind} is used`)
  try {
    const detect = detector.prepare(await viewFor(detector, source))
    return (object) => {
      try {
        return detect(object)
      } catch (error) {
        return unknownUse(`its use cannot be determined: ${(error as Error).message}`)
      }
    }
  } catch (error) {
    const because = (error as Error).message
    return () => unknownUse(because)
  }
}

async function viewFor(
  { needs, looksInside = false }: Detector,
  { client, mode = 'Unknown', list, mentions }: UseSource,
): Promise<ClusterView> {
  const lists = new Map<ReferrerKind, readonly StoredObject[]>()
  const read = async (kind: ReferrerKind) => {
    const type = referrerTypes[kind]
    const served = await client.discovery.typeOf({ apiVersion: apiVersionOf(type), kind: type.kind })
    lists.set(kind, served ? await list(type) : [])
  }
  await Promise.all([...new Set<ReferrerKind>([...needs, 'customresourcedefinitions', 'apiservices'])].map(read))
  const types = [
    ...definedTypes(lists.get('customresourcedefinitions') ?? []),
    ...(await aggregatedTypes(client, lists.get('apiservices') ?? [])),
  ]
  const customUse = await customReferences(mode, { types, mentions })
  const inside = looksInside ? await customResidents(mode, { types, list }) : notLooking
  return {
    list: (kind) => {
      const objects = lists.get(kind)
      if (!objects) throw new Error(`the detector did not declare that it needs ${kind}`)
      return objects
    },
    customUse,
    customUseIn: inside.ofNamespace,
    customUseOf: inside.ofDefinition,
  }
}

const unread = () => unknownUse('the detector does not read custom resources')
const notLooking = { ofNamespace: unread, ofDefinition: unread }

/** Kinds of aggregated API servers, which may refer to objects as custom resources do. */
async function aggregatedTypes(client: Client, services: readonly StoredObject[]): Promise<readonly ResourceType[]> {
  const versions = aggregatedVersions(services)
  if (versions.size === 0) return []
  const { types, unread } = await discovered(() => client.discovery.survey())
  const silent = unread.filter((version) => versions.has(version))
  if (silent.length > 0) throw new InventoryError(`discovery failed for ${silent.join()}`)
  return types.filter(
    (type) => versions.has(apiVersionOf(type)) && ['list', 'watch'].every((verb) => type.verbs.includes(verb)),
  )
}

/** Turns a failed discovery into an InventoryError. */
export async function discovered<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof StatusError) throw new InventoryError(`discovery failed: ${error.message}`, { cause: error })
    throw error
  }
}
