import { createHash } from 'node:crypto'
import { cleanupCandidate, type CleanupCandidate } from '../../../src/apis/cleanup-candidate.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { configMap, namespace, type Case, type World } from './case.ts'

const home = 'access-janitor'
const labels = { access: 'janitor' }
const forgotten = configMap(home, 'forgotten', { labels })
const spared = configMap(home, 'spared', { labels: { access: 'slowly' } })

/** One kind for each way of finding out whether something is in use. */
const resources = [
  { kind: 'ConfigMap' },
  { kind: 'Service' },
  { kind: 'PersistentVolume' },
  { kind: 'Namespace' },
  { kind: 'ServiceAccount' },
  { group: 'storage.k8s.io', kind: 'VolumeAttachment' },
  { group: 'networking.k8s.io', kind: 'Ingress' },
  { group: 'autoscaling', kind: 'HorizontalPodAutoscaler' },
  { group: 'rbac.authorization.k8s.io', kind: 'Role' },
  { group: 'rbac.authorization.k8s.io', kind: 'RoleBinding' },
]

function policy(name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'CleanupPolicy',
    metadata: { name },
    spec: {
      interval: '1s',
      minAge: '0',
      retention: { duration: '0s' },
      rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'true' } }] }],
      notification: { channels: ['access-events'] },
      owner: { default: 'team@example.com' },
      limits: { maxDeletePercent: 100 },
      safety: { maxInventoryDropPercent: 100 },
      ...spec,
    },
  }
}

const everything = policy('access-everything', {
  targets: [{ kubernetes: { resources, labelSelector: { matchLabels: labels } } }],
})
const unused = policy('access-unused', {
  unusedFor: '1h',
  targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], labelSelector: { matchLabels: labels } } }],
})
const slow = policy('access-slow', {
  retention: { duration: '1h' },
  targets: [
    { kubernetes: { resources: [{ kind: 'ConfigMap' }], labelSelector: { matchLabels: { access: 'slowly' } } } },
  ],
})

/** Whose status says whether they can be used. */
const reported: readonly KubeObject[] = [
  { kind: 'WorkSchedule', spec: { timeZone: 'UTC', windows: [{ days: ['Monday'] }] } },
  { kind: 'ProviderAccount', spec: { provider: 'aws', regions: ['eu-central-1'] } },
].map((each) => ({ apiVersion: 'sojourn.dev/v1alpha1', ...each, metadata: { name: 'access' } }))

/** What a larger ledger of the same policy left behind. */
function staleShard(): KubeObject {
  const set = createHash('sha256')
    .update(JSON.stringify(['access-unused', 'kubernetes']))
    .digest('hex')
    .slice(0, 16)
  const at = '2026-01-01T00:00:00Z'
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'UsageLedger',
    metadata: { name: `ledger-${set}-7`, labels: { 'sojourn.dev/ledger': set } },
    spec: {
      policy: 'access-unused',
      location: 'kubernetes',
      shard: 7,
      shards: 1,
      trackingSince: at,
      observedAt: at,
      entries: {},
    },
  }
}

/** How far what a policy marked has come. */
async function phaseOf({ client }: World, { metadata }: KubeObject): Promise<string | undefined> {
  const { items } = await client.list<CleanupCandidate>(cleanupCandidate.type)
  return items.find(({ spec }) => spec.policy === metadata.name)?.status?.phase
}

export const janitorCase: Case = {
  targets: [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list', 'watch'] },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ['list', 'watch'] },
  ],
  stages: [
    {
      flags: { 'keep-records': '20s' },
      async given(world) {
        await world.create(namespace(home), {
          apiVersion: 'sojourn.dev/v1alpha1',
          kind: 'NotificationChannel',
          metadata: { name: 'access-events' },
          spec: { type: 'event' },
        })
        await world.create(...reported)
        const [target] = await world.create(forgotten, spared)
        await world.abandon(target!, { system: 'janitor' })
        await world.create(staleShard(), unused)
      },
      async act(world, running) {
        const path = `/resources/state/kubernetes:home:${home}:configmap/spared/optOut`
        await world.ask(running.url, 'POST', '/janitor/pause')
        await world.create(everything, slow)
        await world.ask(running.url, 'POST', '/janitor/resume')
        // Marked now, spared, and marked again: the same Event twice.
        await world.until(async () => (await phaseOf(world, slow)) === 'Notified')
        await world.until(() => world.ask(running.url, 'PUT', path))
        await world.until(() =>
          world.ask(running.url, 'POST', `/janitor/policies/${unused.metadata.name}/close-circuit`),
        )
        await world.until(
          async () => (await world.find(spared))?.metadata.annotations?.['sojourn.dev/expiration-time'] === 'never',
        )
        await world.until(() => world.ask(running.url, 'DELETE', path))
        await world.until(
          async () => (await world.find(spared))?.metadata.annotations?.['sojourn.dev/expiration-time'] === undefined,
        )
        await world.until(async () => (await world.find(forgotten)) === undefined)
        await world.until(async () => (await phaseOf(world, slow)) === 'Notified')
        await world.remove(everything)
      },
    },
  ],
}
