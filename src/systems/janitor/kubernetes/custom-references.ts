import { sojournGroup } from '../../../apis/group.ts'
import type { KubernetesTarget } from '../../../apis/cleanup-policy.ts'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import type { Use } from '../resource.ts'
import { unknownUse, unused, used } from './detector.ts'
import { mentionedIn, type Mentioner } from './mentions.ts'

const ownGroups = new Set([
  sojournGroup.group,
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
])
const records = new Set(['Departure', 'CleanupCandidate', 'CleanupOptOut', 'UsageLedger'])

/** Bookkeeping of ours: its mentioning an object does not mean that it needs it. */
export function isRecord(kind: string): boolean {
  return records.has(kind)
}

export interface CustomReferencePorts {
  readonly definitions: readonly StoredObject[]
  /** Who mentions a text among the objects of a custom kind; throws when they cannot be listed. */
  readonly mentions: (type: ResourceType) => Promise<Mentioner>
}

/** How custom resources may refer to an object by name: our own are always looked through, others as the policy says. */
export async function customReferences(
  mode: NonNullable<KubernetesTarget['customReferences']>,
  { definitions, mentions: mentionsOf }: CustomReferencePorts,
): Promise<(name: string) => Use> {
  const types = definitions.flatMap(typeOf)
  const own = types.filter(({ group, kind }) => ownGroups.has(group) && !isRecord(kind))
  const others = types.filter(({ group }) => !ownGroups.has(group))
  const mentions = await Promise.all((mode === 'Scan' ? [...own, ...others] : own).map(mentionsOf))
  const rest =
    mode === 'Unknown' && others.length > 0
      ? unknownUse('custom resources of this cluster may refer to it')
      : unused('nothing refers to it')
  return (name) => {
    const by = mentionedIn(mentions, name)
    return by === undefined ? rest : used(by)
  }
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
