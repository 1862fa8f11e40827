/** @import { ListName } from './types.d.ts' */

/**
 * The lists the dashboard is made from: where each is, and what its objects are. `isOfOne`: there is no such list in each namespace.
 * @type {Record<ListName, { path: string, query?: string, apiVersion: string, kind: string, isOfOne?: boolean }>}
 */
export const kinds = {
  cleaners: {
    path: '/apis/cleaner.vtex.dev/v1alpha/cleaners',
    apiVersion: 'cleaner.vtex.dev/v1alpha',
    kind: 'Cleaner',
  },
  ownCleaners: ours('cleaners', 'Cleaner'),
  ttls: {
    path: '/apis/cleaner.vtex.io/v1alpha1/conditionalttls',
    apiVersion: 'cleaner.vtex.io/v1alpha1',
    kind: 'ConditionalTTL',
  },
  environments: ours('environments', 'Environment'),
  candidates: { ...ours('cleanupcandidates', 'CleanupCandidate'), isOfOne: true },
  optOuts: { ...ours('cleanupoptouts', 'CleanupOptOut'), isOfOne: true },
  bonds: ours('bonds', 'Bond'),
  // Pages of manifests are for a restore alone.
  departures: { ...ours('departures', 'Departure'), query: 'labelSelector=%21sojourn.dev%2Fpage' },
  pipelines: {
    path: '/apis/pipelines.weave.works/v1alpha1/pipelines',
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
  },
  services: { path: '/api/v1/services', apiVersion: 'v1', kind: 'Service' },
  deployments: { path: '/apis/apps/v1/deployments', apiVersion: 'apps/v1', kind: 'Deployment' },
  statefulsets: { path: '/apis/apps/v1/statefulsets', apiVersion: 'apps/v1', kind: 'StatefulSet' },
  door: {
    path: '/api/v1/namespaces/sojourn-system/configmaps',
    query: 'fieldSelector=metadata.name%3Dsojourn-door',
    apiVersion: 'v1',
    kind: 'ConfigMap',
    isOfOne: true,
  },
}

/** @param {string} plural @param {string} kind */
function ours(plural, kind) {
  return { path: `/apis/sojourn.dev/v1alpha1/${plural}`, apiVersion: 'sojourn.dev/v1alpha1', kind }
}
