import type { KubeObject } from '../../../src/kube/object.ts'
import { namespace, type Case, type World } from './case.ts'

const home = 'access-activator'
const kinds = ['Deployment', 'StatefulSet', 'ReplicaSet'] as const

function workload(kind: string): KubeObject {
  const app = kind.toLowerCase()
  const template = { metadata: { labels: { app } }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  const spec = { replicas: 1, selector: { matchLabels: { app } }, template }
  return { apiVersion: 'apps/v1', kind, metadata: { name: app, namespace: home }, spec }
}

function service(kind: string): KubeObject {
  const name = kind.toLowerCase()
  const annotations = {
    'sojourn.dev/target': `${kind}/${name}`,
    'proxless/domains': `${name}.example.com`,
    'proxless/ttl-seconds': '1',
    'proxless/readiness-timeout-seconds': '1',
    'sojourn.dev/waiting-page': 'ConfigMap/please-wait',
  }
  const spec = { ports: [{ port: 80 }], selector: { app: name } }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: home, annotations }, spec }
}

/** Calls a sleeping workload while somebody else keeps changing it: what is woken is not what was seen. */
async function callAmidChanges(world: World, proxy: string, kind: string): Promise<void> {
  const busy = workload(kind)
  const isAsleep = async () => ((await world.find(busy))?.spec as { replicas?: number } | undefined)?.replicas === 0
  await world.until(isAsleep)
  const changes = async () => {
    for (let times = 0; times < 40; times++)
      await world.change(busy, { metadata: { annotations: { times: `${times} ${Math.random()}` } } })
  }
  const call = () => world.ask(proxy, 'GET', '/', undefined, { host: `${kind.toLowerCase()}.example.com` })
  await Promise.all([changes(), call(), call()])
}

const asleep = 'access-activator-asleep'
/** What sleeps by the hours of its namespace, beside Deployments and StatefulSets. */
const sleepers: readonly KubeObject[] = [
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    spec: {
      schedule: '0 0 1 1 *',
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'job', image: 'job' }] } } },
      },
    },
  },
  { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', spec: { replicas: 1 } },
  { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', spec: { scaleTargetRef: { name: 'other' } } },
  { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', spec: { instances: 1 } },
].map((each) => ({ ...each, metadata: { name: 'sleeper', namespace: asleep } }))

/** How Kubernetes marks Endpoints that it fills itself. */
const ofItsOwn = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }

/** What Kubernetes makes of the Endpoints that are left when a Service has lost its selector. */
function mirrored({ metadata: { name = '' } }: KubeObject): KubeObject {
  const labels = {
    'kubernetes.io/service-name': name,
    'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
  }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-mirrored`, namespace: home, labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'] }],
    ports: [{ port: 80 }],
  }
}

export const activatorCase: Case = {
  stages: [
    {
      flags: { 'proxy-address': '10.0.0.7', 'proxy-tls-port': '0', compatibility: 'kube-green' },
      async given(world) {
        const others = sleepers
          .filter(({ kind }) => kind !== 'CronJob')
          .map(({ apiVersion, kind }) => ({ apiVersion, kind }))
        await world.serve(...others, { apiVersion: 'kube-green.com/v1alpha1', kind: 'SleepInfo' })
        // Awake for one minute of the week.
        await world.create(
          namespace(asleep, { annotations: { 'sojourn.dev/awake': 'Mon 03:00-03:01 UTC' } }),
          ...sleepers,
        )
        await world.create(namespace(home), ...kinds.map(workload), ...kinds.map(service))
      },
      async act(world, { proxy = '', unused }) {
        for (let times = 0; times < 20 && unused().some((right) => right.includes('/scale ')); times++)
          await Promise.all(kinds.map((kind) => callAmidChanges(world, proxy, kind)))
        const taken = service('ReplicaSet')
        const addresses = [{ ip: '10.1.2.3' }]
        const endpoints = {
          apiVersion: 'v1',
          kind: 'Endpoints',
          metadata: { name: taken.metadata.name ?? '', namespace: home, labels: ofItsOwn },
        }
        await world.create({ ...endpoints, subsets: [{ addresses, ports: [{ port: 80 }] }] })
        await world.change(taken, { metadata: { annotations: { 'sojourn.dev/takeover': 'true' } } })
        const selector = async () => ((await world.find(taken))?.spec as { selector?: object } | undefined)?.selector
        await world.until(async () => (await selector()) === undefined)
        await world.create(mirrored(taken))
        await world.until(() => Promise.resolve(!unused().some((right) => right.includes('/endpoints '))))
        await world.change(taken, { spec: { selector: { app: 'replicaset' } } })
        const companion = { ...service('Deployment'), metadata: { name: 'deployment-proxless', namespace: home } }
        const ports = async () => ((await world.find(companion))?.spec as { ports?: object[] } | undefined)?.ports
        await world.until(async () => (await ports())?.length === 1)
        const two = [
          { name: 'http', port: 80 },
          { name: 'more', port: 81 },
        ]
        await world.change(service('Deployment'), { spec: { ports: two } })
        await world.until(async () => (await ports())?.length === 2)
        await world.change(service('Deployment'), { metadata: { annotations: { 'sojourn.dev/target': null } } })
      },
    },
  ],
}
