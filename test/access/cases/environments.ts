import { configMap, namespace, refusalOf, signedChannel, type Case, type World } from './case.ts'
import type { KubeObject } from '../../../src/kube/object.ts'

const labels = { access: 'environments' }
const home = 'access-environments'
const kept = 'access-environments-kept'
const left = 'access-environments-left'
const stubborn = 'access-environments-stubborn'
/** Where what deploys the environments is. */
const tools = 'access-environments-tools'

/** The Environment that stands for a namespace. */
function environmentOf(name: string): KubeObject {
  return { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Environment', metadata: { name, namespace: name } }
}

/** A workload that has slept for a while: it saves. */
const sleeping: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    namespace: kept,
    annotations: {
      'sojourn.dev/asleep-since': new Date(Date.now() - 3_600_000).toISOString(),
      'sojourn.dev/former-replicas': '1',
    },
  },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '1' } } }] },
    },
  },
}

/** What was counted so many days ago. */
function report(days: number): KubeObject {
  const day = new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
  const row = { namespace: home, owner: 'team', system: 'activator', state: 'Asleep', currency: 'EUR', cpuSeconds: 60 }
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'SavingsReport',
    metadata: { name: `savings-${day}`, namespace: 'sojourn-system' },
    spec: { day, accruedTo: `${day}T23:59:59Z`, uncounted: 0, rows: [row] },
  }
}

/** Follows the link of the notice about an environment. */
async function keep(world: World, notices: readonly string[], url: string): Promise<void> {
  const link = new RegExp(String.raw`https://sojourn\.example\.org(/environments/keep/${kept}/[^"\s]+)`)
  const path = () => link.exec(notices.join('\n'))?.[1]
  await world.until(() => Promise.resolve(path() !== undefined))
  await world.until(() => world.ask(url, 'POST', path() ?? ''))
}

let notices: readonly string[] = []

/** One environment is announced and deleted; another one is kept by the link of its notice, and has a pull request of its own. */
export const environmentsCase: Case = {
  targets: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] }],
  stages: [
    {
      flags: { 'keep-records': '5s', 'public-url': 'https://sojourn.example.org' },
      async given(world) {
        const inbox = await world.inbox()
        notices = inbox.notices
        await world.create(...(await signedChannel(world, 'access-environments', inbox)), report(500), report(50), {
          apiVersion: 'sojourn.dev/v1alpha1',
          kind: 'EnvironmentClass',
          metadata: { name: 'access' },
          spec: {
            namespaceSelector: { matchLabels: labels },
            delete: {
              when: 'true',
              warnBefore: '10s',
              extendBy: '1d',
              viaObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace: tools, name: '{{namespace}}' },
            },
            owner: { default: 'team@example.com' },
            channels: ['access-environments'],
          },
        })
        await world.create(namespace(tools), ...[kept, left].map((name) => namespace(name, { labels })), sleeping)
        const [tool] = await world.create(configMap(tools, home))
        await world.abandon(tool!, { system: 'environments' })
        // An owner is told once a day.
        await world.create(namespace(home, { labels }), ...refusalOf(stubborn), configMap(tools, stubborn))
        await world.create(namespace(stubborn, { labels, annotations: { 'sojourn.dev/owner': 'other@example.com' } }))
      },
      async act(world, { url }) {
        const pullRequest = { url: 'https://127.0.0.1:1/team/shop/pulls/1', secretRef: { name: 'forge' } }
        await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'forge', namespace: kept } })
        await keep(world, notices, url)
        await world.until(() => world.change(environmentOf(kept), { spec: { pullRequest } }).then(() => true))
        await world.change(namespace(left), { metadata: { labels: { access: null } } })
      },
    },
  ],
}
