import { kindKey } from '../../kube/key.ts'
import type { ResourceType } from '../../kube/object.ts'
import type { Metrics } from '../observability/metrics.ts'

/** What every cache measures; `close` takes its gauges away. */
export interface CacheMetrics {
  listed(because: string): void
  changed(type: 'added' | 'modified' | 'deleted'): void
  close(): void
}

/** Measures one cache of a cluster's objects of a type. */
export function cacheMetrics(
  metrics: Metrics,
  { cluster, type }: { readonly cluster: string; readonly type: ResourceType },
  read: () => { readonly objects: number; readonly isFailing: boolean },
): CacheMetrics {
  const labels = { cluster, kind: kindKey(type) }
  const names = ['cluster', 'kind'] as const
  const objects = metrics.gauge({ name: 'sojourn_cache_objects', help: 'Objects in caches.', labels: names })
  const failing = metrics.gauge({
    name: 'sojourn_cache_trouble',
    help: 'Whether a cache cannot follow its cluster at the moment.',
    labels: names,
  })
  const lists = metrics.counter({
    name: 'sojourn_cache_lists_total',
    help: 'Full lists of caches, by why they were needed.',
    labels: [...names, 'because'],
  })
  const changes = metrics.counter({
    name: 'sojourn_cache_changes_total',
    help: 'Changes told by caches.',
    labels: [...names, 'type'],
  })
  const stopCollecting = metrics.onCollect(() => {
    const now = read()
    objects.set(labels, now.objects)
    failing.set(labels, now.isFailing ? 1 : 0)
  })
  return {
    listed: (because) => lists.inc({ ...labels, because }),
    changed: (change) => changes.inc({ ...labels, type: change }),
    close() {
      stopCollecting()
      objects.remove(labels)
      failing.remove(labels)
    },
  }
}
