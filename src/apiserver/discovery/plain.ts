import type { ServedKind } from '../kinds/contract/served-kind.ts'
import type { Group, GroupVersion } from './groups.ts'

/** `/api`: the versions of the core group. */
export function apiVersions(groups: readonly Group[], serverAddress: string): unknown {
  const core = groups.find(({ name }) => name === '')
  return {
    kind: 'APIVersions',
    versions: core?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** `/apis`: all other groups. */
export function apiGroupList(groups: readonly Group[]): unknown {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.filter(({ name }) => name !== '').map(groupEntry),
  }
}

/** `/apis/GROUP`. */
export function apiGroup(group: Group): unknown {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
}

/** `/api/v1` and `/apis/GROUP/VERSION`. */
export function apiResourceList({ groupVersion, kinds }: GroupVersion): unknown {
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: kinds.flatMap(resourceEntries) }
}

function groupEntry({ name, versions }: Group) {
  const entries = versions.map(({ groupVersion, version }) => ({ groupVersion, version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

function resourceEntries(kind: ServedKind): unknown[] {
  const { plural, singular, namespaced, verbs, shortNames, categories, subresources } = kind
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind: kind.kind,
      verbs,
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
    },
    ...subresources.map((subresource) => ({
      name: `${plural}/${subresource.name}`,
      singularName: '',
      namespaced,
      ...(subresource.group === kind.group && subresource.version === kind.version
        ? {}
        : { group: subresource.group, version: subresource.version }),
      kind: subresource.kind,
      verbs: subresource.verbs,
    })),
  ]
}
