import { cleaner } from '../../src/apis/cleaner.ts'
import { cleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { pipeline } from '../../src/apis/pipeline.ts'
import type { Client } from '../../src/client/client.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'

const namespace = 'team'

/** Fills a cluster with some ten thousand objects that all five systems have something to do with. */
export async function populate(client: Client, share: number): Promise<void> {
  const create = async (manifest: KubeObject) => {
    const type = await client.discovery.typeOf(manifest)
    if (!type) throw new Error(`no kind ${manifest.kind}`)
    return client.create<StoredObject>(type, manifest)
  }
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await create(channel)
  for (const policy of policies) await create(policy)
  const each = async (count: number, make: (index: number) => readonly KubeObject[]) => {
    for (let index = 0; index < count * share; index++) for (const manifest of make(index)) await create(manifest)
  }
  await each(1500, expiring)
  await each(3500, (index) => [configMap(`left-${index}`, { labels: { app: `app-${index % 50}` } })])
  await each(500, onDemand)
  await each(100, promoted)
  for (let index = 0; index < 200 * share; index++) {
    const owner = await create(configMap(`owner-${index}`))
    const { uid, name } = owner.metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
    for (let child = 0; child < 10; child++) await create(configMap(`owned-${index}-${child}`, { ownerReferences }))
  }
}

function configMap(name: string, metadata: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...metadata }, data: { key: 'value' } }
}

/** A ConfigMap and the Cleaner that ends it some time in the next forty days. */
function expiring(index: number): readonly KubeObject[] {
  const name = `preview-${index}`
  const target = { name: 'it', delete: true, reference: { version: 'v1', kind: 'ConfigMap', name } }
  return [
    configMap(name),
    {
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name, namespace },
      spec: { ttl: `${1 + ((index * 7) % 960)}h`, targets: [target] },
    },
  ]
}

/** An awake Deployment behind an on-demand Service. */
function onDemand(index: number): readonly KubeObject[] {
  const labels = { app: `shop-${index}` }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: `shop-${index}`, namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: `shop-${index}`,
        namespace,
        annotations: {
          'proxless/deployment': `shop-${index}`,
          'proxless/domains': `shop-${index}.example.org`,
          'proxless/ttl-seconds': String(300 + index),
        },
      },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  ]
}

/** A pipeline of three environments with a soak of a day, by pull request and by commit. */
function promoted(index: number): readonly KubeObject[] {
  const revision = (environment: string, version: string) =>
    configMap(`${environment}-${index}`, { annotations: { revision: version } })
  const environment = (name: string, promotion: object = {}) => ({
    name,
    appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: `${name}-${index}` },
    targets: [{ namespace }],
    ...promotion,
  })
  const secretRef = { name: 'git' }
  const url = 'https://git.example.org/team/shop'
  return [
    revision('dev', '1.1.0'),
    revision('staging', '1.0.0'),
    revision('prod', '1.0.0'),
    {
      apiVersion: pipeline.apiVersion,
      kind: pipeline.kind,
      metadata: { name: `shop-${index}`, namespace },
      spec: {
        appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: `dev-${index}` },
        adapter: { healthy: 'true', revision: 'self.metadata.annotations["revision"]' },
        environments: [
          environment('dev'),
          environment('staging', { promotion: { strategy: { notification: {} } } }),
          environment('prod', {
            soak: '24h',
            promotion: { strategy: { 'pull-request': { type: 'gitea', url, baseBranch: 'main', secretRef } } },
          }),
        ],
      },
    },
  ]
}

const channel: KubeObject = {
  apiVersion: notificationChannel.apiVersion,
  kind: notificationChannel.kind,
  metadata: { name: 'mail' },
  spec: { type: 'smtp', smtp: { host: 'mail.example.org', from: 'janitor@example.org' } },
}

const policies: readonly KubeObject[] = [1, 2].map((number) => ({
  apiVersion: cleanupPolicy.apiVersion,
  kind: cleanupPolicy.kind,
  metadata: { name: `unused-${number}` },
  spec: {
    interval: '1h',
    targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }], customReferences: 'Ignore' } }],
    rules: [{ rules: [{ name: 'Unused' }] }],
    exclusions: [
      {
        type: 'Literal',
        attributes: [{ key: 'name', value: [`pattern:^(preview|owned|owner|dev|staging|prod|left-.*[${number}-7])`] }],
      },
    ],
    minAge: '3d',
    retention: { duration: '7d' },
    owner: { default: 'team@example.org' },
    notification: { channels: ['mail'] },
  },
}))
