import type { Address } from './route.ts'

/** One of several who send requests to the same pods: threads of a replica, or replicas. */
export interface SenderIndex {
  readonly index: number
  readonly count: number
}

/**
 * The pods that one of several may send requests to, where a pod takes only so many at a time. With enough pods each has its own, and the
 * bound is kept whatever the others do; with fewer they share, and each keeps to its part of the bound, one request at least.
 */
export function shareOf(pods: readonly Address[], { index, count }: SenderIndex): readonly Address[] {
  if (count <= 1 || pods.every(({ limit }) => limit === undefined)) return pods
  const inOrder = pods.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
  if (pods.length >= count) return inOrder.filter((_, place) => place % count === index)
  return inOrder.map((pod) =>
    pod.limit === undefined ? pod : { ...pod, limit: Math.max(1, Math.floor(pod.limit / count)) },
  )
}

function nameOf({ host, port }: Address): string {
  return `${host} ${port}`
}
