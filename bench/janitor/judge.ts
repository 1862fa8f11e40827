import type { Client } from '../../src/client/client.ts'
import type { ResourceType, StoredObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import type { ClusterHandle } from '../../src/runtime/clusters/clusters.ts'
import { describe, judge, noHistory } from '../../src/systems/janitor/verdict/judge.ts'
import { KubernetesProvider } from '../../src/systems/janitor/kubernetes/kubernetes-provider.ts'
import { planCycle, type Judged } from '../../src/systems/janitor/decision/plan.ts'
import { protectionCheck } from '../../src/systems/janitor/verdict/protection.ts'
import { policy } from '../../test/janitor/fixtures.ts'
import { judgedPolicy } from './judged-policy.ts'
import { measure, mebibytes, within } from './measure.ts'

/** One policy judges 100,000 ConfigMaps, half of them in use by 20,000 pods, out of caches that are already filled. */
const count = Number(process.argv[2] ?? 100_000)
const pods = Array.from({ length: count / 5 }, (_, index) =>
  object('Pod', `pod-${index}`, {
    spec: {
      containers: [{ envFrom: [{ configMapRef: { name: `map-${index * 2}` } }] }],
      volumes: [{ configMap: { name: `map-${index * 2 + 1}` } }],
    },
  }),
)
const maps = Array.from({ length: count }, (_, index) =>
  object('ConfigMap', `map-${index}`, { data: { key: 'value' } }),
)
const caches: Readonly<Record<string, readonly StoredObject[]>> = { configmaps: maps, pods }

const compiled = policy(judgedPolicy('24h'))
const provider = new KubernetesProvider({ cluster: () => handle(), clock: systemClock })

const { result, cpuMs, grownBytes } = await measure(async () => {
  const observation = await provider.observe({
    policy: compiled,
    location: 'kubernetes',
    signal: new AbortController().signal,
  })
  const now = systemClock.now()
  const around = { protection: protectionCheck(() => [], now), owners: observation.owners, ledger: noHistory, now }
  const judged = observation.resources.values().map((resource): Judged<never> => ({
    resource,
    verdict: judge(describe(resource, compiled, observation.owners), compiled, around),
    mark: undefined,
  }))
  return planCycle({ judged, skipped: 0, policy: compiled, previous: undefined, circuitAcknowledged: false, now })
})
console.log(
  `judged ${result.counts.visited} objects, ${result.counts.violating} violating: ${(cpuMs / 1000).toFixed(2)} s of CPU, ${mebibytes(grownBytes)} MiB beside the caches`,
)
within('seconds of CPU', cpuMs / 1000, 10)
within('MB beside the caches', grownBytes / 1e6, 300)

function object(kind: string, name: string, rest: Record<string, unknown>): StoredObject {
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: `team-${name.length}`,
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: 'web' },
      annotations: { owner: 'ann@example.org' },
    },
    ...rest,
  }
}

/** A cluster whose caches are full. */
function handle(): ClusterHandle {
  const served = (kind: string): ResourceType => ({
    group: '',
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: true,
  })
  const discovery = {
    typeOf: async ({ kind }: { kind: string }) => (['ConfigMap', 'Pod'].includes(kind) ? served(kind) : undefined),
    find: async (kind: string) => served(kind),
    forget() {},
  }
  const open = (type: ResourceType) => ({
    type,
    synced: true,
    trouble: undefined,
    list: () => caches[type.plural] ?? [],
    close() {},
  })
  return {
    name: '',
    status: { state: 'reachable' },
    client: { discovery } as unknown as Client,
    lastSeenAt: 0,
    open,
    onChange: () => () => {},
    close() {},
  } as unknown as ClusterHandle
}
