import { environmentClass, type EnvironmentClassSpec } from '../../src/apis/environment-class.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import type { KubeObject, ObjectMeta } from '../../src/kube/object.ts'

/** The namespace of the demo's environment. */
export const demoNamespace = 'demo-preview'
/** Marks the demo's own objects, as others may have the same names. */
export const demoLabel = 'sojourn.dev/demo'
/** The domain at which the proxy serves the shop. */
export const shopDomain = 'shop.demo-preview.test'
/** The name of the demo's objects outside of its namespace. */
export const demoName = 'demo-preview'

/** How fast the demo goes. */
export interface Pace {
  /** Time to read, between two things that happen. */
  readonly readingMs: number
  /** The warning that the owner gets before the deletion: a day in the class, seconds while the demo shows it. */
  readonly warnSeconds: number
}

/** Slow enough to read along. */
export const readingPace: Pace = { readingMs: 4000, warnSeconds: 60 }

const within = (name: string, metadata: ObjectMeta = {}) => ({ name, namespace: demoNamespace, ...metadata })
const labels = { [demoLabel]: 'true' }

/** The rules of README's first manifest; `deletion` hurries them for a moment. */
export function previewClass(forgeHost: string, deletion: EnvironmentClassSpec['delete'] = {}): KubeObject {
  const spec: EnvironmentClassSpec = {
    namespaceSelector: { matchLabels: labels },
    sleep: { idleAfter: '30m' },
    delete: { after: '7d', warnBefore: '24h', extendBy: '3d', maxAge: '60d', ...deletion },
    pullRequest: {
      graceAfterClose: '1s',
      forges: [{ host: forgeHost, type: 'gitea', secretRef: { name: demoName }, repositories: ['demo/*'] }],
    },
    channels: [demoName],
  }
  return {
    apiVersion: environmentClass.apiVersion,
    kind: environmentClass.kind,
    metadata: { name: demoName, labels },
    spec,
  }
}

/** The Namespace as a CI job creates it: a label, an owner, and the address of the pull request. */
export const previewNamespace = (pullUrl: string, owner: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: demoNamespace,
    labels,
    annotations: { 'sojourn.dev/owner': owner, 'sojourn.dev/pull-request': pullUrl },
  },
})

/** The token for the forge, where only administrators may read it. */
export const forgeSecret = (credentials: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: demoName, namespace: 'sojourn-system', labels },
  stringData: credentials,
})

/** Tells owners by Events. */
export const eventChannel: KubeObject = {
  apiVersion: notificationChannel.apiVersion,
  kind: notificationChannel.kind,
  metadata: { name: demoName, labels },
  spec: { type: 'event' },
}

/** The shop: a Deployment whose container is a local process. */
export function shopDeployment(command: readonly string[]): KubeObject {
  const app = { app: 'shop' }
  const container = {
    name: 'shop',
    image: 'registry.example/shop:1.1.0',
    command,
    env: [{ name: 'REVISION', value: '1.1.0' }],
    ports: [{ containerPort: 8080 }],
    // What its sleep saves: docs/guide/savings.md recomputes it.
    resources: { requests: { cpu: '250m', memory: '512Mi' } },
    readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: within('shop'),
    spec: {
      replicas: 1,
      selector: { matchLabels: app },
      template: { metadata: { labels: app }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  }
}

/** Serves the shop through the proxy, which wakes it. */
export const shopService: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: within('shop', { annotations: { 'proxless/deployment': 'shop', 'proxless/domains': shopDomain } }),
  spec: { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 8080 }] },
}

/** What the restore must bring back besides the shop. */
export const shopSettings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: within('settings'),
  data: { colour: 'blue' },
}
