import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DemoForge } from '../../examples/demo/forge.ts'
import { environmentClass, type EnvironmentClassSpec } from '../../src/apis/environment-class.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { findEnvironment, ownEnvironment, setPower } from '../../src/app/operations/environments.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { namespaces } from '../../src/kube/core-types.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { startMailSink } from '../../test/janitor/sinks.ts'

/** What the pictures show: environments of a real `sojourn up`, the mail that it sent and the comment that it wrote. */
export interface PictureWorld extends AsyncDisposable {
  readonly url: string
  readonly token: string
  readonly mail: string
  readonly comment: string
}

const names = ['shop-pr-41', 'shop-pr-42', 'shop-pr-43']
const people = ['ada@example.org', 'ben@example.org', 'cleo@example.org']

/** Three environments with pull requests on a forge: one awake, one asleep, one about to be deleted. */
export async function startPictureWorld(): Promise<PictureWorld> {
  const data = mkdtempSync(join(tmpdir(), 'pictures-'))
  const forge = await DemoForge.start({ name: 'shop.txt', text: 'blue\n' }, systemClock)
  const mail = await startMailSink()
  const flags = { data, port: '0', 'proxy-port': '0', durable: false, 'public-url': 'https://sojourn.example.org' }
  const up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const kubeconfig = loadKubeconfig([up.kubeconfig], { now: () => systemClock.now(), env: {} })
  const network = networkTransport(kubeconfig)
  const client = new Client(network.transport)
  const apply = async (manifest: KubeObject) => {
    const type = await client.discovery.typeOf(manifest)
    if (type) await client.apply(type, manifest, { force: true })
  }
  await apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'forge', namespace: 'sojourn-system' },
    stringData: forge.credentials,
  })
  await apply({
    apiVersion: notificationChannel.apiVersion,
    kind: notificationChannel.kind,
    metadata: { name: 'mail' },
    spec: { type: 'smtp', smtp: { host: '127.0.0.1', port: mail.port, from: 'sojourn@example.org' } },
  })
  const host = new URL(forge.url).host
  await apply(classOf('preview', { host, after: '7d' }))
  await apply(classOf('short-lived', { host, after: '24h' }))
  for (const [index, name] of names.entries()) {
    const pull = forge.propose({ name: 'shop.txt', text: `${name}\n` }, `Change ${index + 1}`)
    for (const manifest of environmentOf(name, { pull, owner: people[index] ?? '' })) await apply(manifest)
  }
  // Labelled once the proxy knows their addresses: comments are edited rarely, so the first one has to say it all.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  for (const [index, name] of names.entries()) {
    const body = { metadata: { labels: { env: index === 0 ? 'short-lived' : 'preview' } } }
    await client.patch(namespaces, { name }, { type: 'merge', body })
  }
  await until(async () => (await ownEnvironment(client, 'shop-pr-43'))?.status?.power !== undefined)
  const now = systemClock.now()
  const asleep = await findEnvironment(client, 'shop-pr-43')
  await setPower(client, asleep, { power: 'Asleep', until: now + 36_000_000, now })
  await until(async () => (await ownEnvironment(client, 'shop-pr-43'))?.status?.phase === 'Asleep')
  const written = () => forge.comments.find((text) => text.includes('Keep it') && text.includes('http://shop-pr'))
  await until(async () => mail.mails.length > 0 && written() !== undefined)
  const { token = '' } = await kubeconfig.credentials()
  return {
    url: kubeconfig.server,
    token,
    mail: mail.mails[0]?.text ?? '',
    comment: written() ?? '',
    async [Symbol.asyncDispose]() {
      network.close()
      await up.stop()
      void mail[Symbol.asyncDispose]()
      await forge[Symbol.asyncDispose]()
      rmSync(data, { recursive: true })
    },
  }
}

function classOf(name: string, { host, after }: { host: string; after: string }): KubeObject {
  const spec: EnvironmentClassSpec = {
    namespaceSelector: { matchLabels: { env: name } },
    sleep: { idleAfter: '30m' },
    delete: { after, warnBefore: '24h', extendBy: '3d', maxAge: '60d' },
    pullRequest: { forges: [{ host, type: 'gitea', secretRef: { name: 'forge' }, repositories: ['demo/*'] }] },
    channels: ['mail'],
  }
  return { apiVersion: environmentClass.apiVersion, kind: environmentClass.kind, metadata: { name }, spec }
}

function environmentOf(name: string, { pull, owner }: { pull: string; owner: string }): readonly KubeObject[] {
  const labels = { app: 'shop' }
  const annotations = { 'sojourn.dev/owner': owner, 'sojourn.dev/pull-request': pull }
  const domain = { 'proxless/deployment': 'shop', 'proxless/domains': `${name}.preview.example.org` }
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, annotations },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', namespace: name },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: name, annotations: domain },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  ]
}

async function until(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await check().catch(() => false)) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('the world did not become as the pictures need it within two minutes')
}
