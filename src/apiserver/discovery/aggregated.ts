import type { ServedKind } from '../kinds/contract/served-kind.ts'
import type { Group } from './groups.ts'

/** Aggregated discovery: the APIGroupDiscoveryList of `/api` (core group) or `/apis` (all other groups). */
export function apiGroupDiscoveryList(groups: readonly Group[], version: 'v2' | 'v2beta1'): unknown {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name ? { name, creationTimestamp: null } : { creationTimestamp: null },
      versions: versions.map(({ version: ofGroup, kinds }) => ({
        version: ofGroup,
        resources: kinds.map(resource),
        freshness: 'Current',
      })),
    })),
  }
}

/** The media type of aggregated discovery. Clients refuse an answer without the parameters they asked for. */
export function aggregatedContentType(version: 'v2' | 'v2beta1'): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
}

function resource(kind: ServedKind): unknown {
  const { group, version, plural, singular, namespaced, verbs, shortNames, categories, subresources } = kind
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map((subresource) => ({
            subresource: subresource.name,
            responseKind: { group: subresource.group, version: subresource.version, kind: subresource.kind },
            verbs: subresource.verbs,
          })),
        }
      : {}),
  }
}
