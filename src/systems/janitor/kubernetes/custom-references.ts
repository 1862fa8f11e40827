import { sojournGroup } from '../../../apis/group.ts'
import type { KubernetesTarget } from '../../../apis/cleanup-policy.ts'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { unknownUse, unused, used, type Use } from '../model/resource.ts'
import { kindAndName } from './references/detector.ts'
import { mentionedIn, type MentionFinder } from './references/mentions.ts'

const ownGroups = new Set([
  sojournGroup.group,
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
])
const records = new Set([
  'Departure',
  'DeparturePage',
  'CleanupCandidate',
  'CleanupOptOut',
  'UsageLedger',
  'SavingsReport',
])
/** Our kinds that make a namespace used; the others configure its lifecycle or record it. */
const residents = new Set(['Pipeline', 'GitopsCluster'])

/** Our records: one that mentions an object does not use it. */
export function isRecord(kind: string): boolean {
  return records.has(kind)
}

/** Our kinds, whose status we write: a name in it, such as in a policy's `wouldMark`, is no use. */
export function isOurs({ group }: Pick<ResourceType, 'group'>): boolean {
  return ownGroups.has(group)
}

type Mode = NonNullable<KubernetesTarget['customReferences']>

/** Finds references by name from custom resources. Our own kinds are always searched, others as the policy says. */
export async function customReferences(
  mode: Mode,
  /** Who mentions a text among the objects of a custom kind; throws when they cannot be listed. */
  { types, mentions: mentionsOf }: CustomTypes & { readonly mentions: (type: ResourceType) => Promise<MentionFinder> },
): Promise<(name: string) => Use> {
  const { own, others } = divided(types)
  const working = own.filter(({ kind }) => !isRecord(kind))
  const mentions = await Promise.all((mode === 'Scan' ? [...working, ...others] : working).map(mentionsOf))
  const rest = restOf(mode, others, 'nothing refers to it')
  return (name) => {
    const by = mentionedIn(mentions, name)
    return by === undefined ? rest : used(by)
  }
}

/** The use of namespaces and definitions by custom resources, which may stand for anything, such as a cloud database. */
export interface CustomResidents {
  readonly ofNamespace: (namespace: string) => Use
  /** By `group/Kind`. */
  readonly ofDefinition: (definition: string) => Use
}

/** Lists the custom resources of a cluster. */
export async function customResidents(
  mode: Mode,
  { types, list }: CustomTypes & { readonly list: (type: ResourceType) => Promise<readonly StoredObject[]> },
): Promise<CustomResidents> {
  const { own, others } = divided(types)
  const working = own.filter(({ kind }) => residents.has(kind))
  const byNamespace = new Map<string, string>()
  const byDefinition = new Map<string, Use>()
  for (const type of mode === 'Scan' ? [...working, ...others] : working) {
    const found = await list(type)
    for (const object of found) byNamespace.set(object.metadata.namespace ?? '', kindAndName(object))
    byDefinition.set(
      `${type.group}/${type.kind}`,
      found.length > 0 ? used(`${found.length} of its objects`) : unused('no object of its kind exists'),
    )
  }
  const rest = restOf(mode, others, 'nothing runs in it')
  return {
    ofNamespace(namespace) {
      const by = byNamespace.get(namespace)
      return by === undefined ? rest : used(by)
    },
    ofDefinition: (definition) =>
      byDefinition.get(definition) ?? unknownUse('its objects were not counted (customReferences: Scan counts them)'),
  }
}

interface CustomTypes {
  readonly types: readonly ResourceType[]
}

function divided(types: readonly ResourceType[]) {
  return {
    own: types.filter(isOurs),
    others: types.filter((type) => !isOurs(type)),
  }
}

function restOf(mode: Mode, others: readonly ResourceType[], because: string): Use {
  return mode === 'Unknown' && others.length > 0
    ? unknownUse('custom resources of this cluster may refer to it (customReferences: Scan looks through them)')
    : unused(because)
}

/** The types that CustomResourceDefinitions define. */
export function definedTypes(definitions: readonly StoredObject[]): readonly ResourceType[] {
  return definitions.flatMap(typeOf)
}

function typeOf({ spec }: StoredObject): readonly ResourceType[] {
  const { group, scope, names, versions } = spec as {
    group: string
    scope: string
    names: { kind: string; plural: string }
    versions: readonly { name: string; served: boolean }[]
  }
  const version = versions.find(({ served }) => served)?.name
  return version ? [{ group, version, kind: names.kind, plural: names.plural, namespaced: scope === 'Namespaced' }] : []
}

/** Group versions of aggregated API servers, except metrics: no CustomResourceDefinition lists their types. */
export function aggregatedVersions(services: readonly StoredObject[]): ReadonlySet<string> {
  return new Set(
    services.flatMap(({ spec }) => {
      const { service, group = '', version = '' } = (spec ?? {}) as ApiServiceSpec
      return service && !/(?:^|\.)metrics\.k8s\.io$/.test(group) ? [`${group}/${version}`] : []
    }),
  )
}

interface ApiServiceSpec {
  readonly service?: object | null
  readonly group?: string
  readonly version?: string
}
