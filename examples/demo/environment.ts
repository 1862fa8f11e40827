import { cleaner } from '../../src/apis/cleaner.ts'
import { cleanupOptOut } from '../../src/apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { notificationChannel } from '../../src/apis/notification-channel.ts'
import { pipeline } from '../../src/apis/pipeline.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '../../src/kube/object.ts'

/** Everything the demo creates is in this namespace, or owned by it. */
export const demoNamespace = 'demo-preview'
/** Marks the demo's own namespace, as another may have the same name. */
export const demoLabel = 'sojourn.dev/demo'
/** The domain at which the proxy serves the shop. */
export const shopDomain = 'shop.demo-preview.test'

/** How fast the demo goes. */
export interface Pace {
  /** Time to read, between two things that happen. */
  readonly readingMs: number
  /** How long after the last request the shop sleeps. */
  readonly sleepsAfterSeconds: number
  /** How long after its owner is told an object is deleted. */
  readonly deletesAfterSeconds: number
}

/** Slow enough to read along. */
export const readingPace: Pace = { readingMs: 5000, sleepsAfterSeconds: 8, deletesAfterSeconds: 25 }

/** The name of the demo's cluster-scoped objects. */
export const demoName = 'demo-preview'

/** The namespace of the preview environment. */
export const previewNamespace: KubeObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: demoNamespace, labels: { [demoLabel]: 'true' } },
}

/** Where a shop says which revision it runs. */
const revisionAnnotation = 'demo.sojourn.dev/revision'

const within = (name: string, metadata: ObjectMeta = {}) => ({ name, namespace: demoNamespace, ...metadata })

/** The shop: a Deployment whose container is a local process, asleep at first. */
export function shopDeployment(command: readonly string[], revision: string): KubeObject {
  const labels = { app: 'shop' }
  const container = {
    name: 'shop',
    image: `registry.example/shop:${revision}`,
    command,
    env: [{ name: 'REVISION', value: revision }],
    ports: [{ containerPort: 8080 }],
    readinessProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: within('shop', { annotations: { [revisionAnnotation]: revision } }),
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
    },
  }
}

/** The shop as it runs in staging: here only a note of its revision. */
export function stagingShop(revision: string): KubeObject {
  const metadata = within('staging', { annotations: { [revisionAnnotation]: revision } })
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

/** The file in git that says what the preview runs; the comment marks what a promotion may change. */
export function previewFile(revision: string): { readonly name: string; readonly text: string } {
  const marker = `{"$promotion": "${demoNamespace}:shop:preview"}`
  return { name: 'preview.yaml', text: `# What the preview of the shop runs.\nversion: ${revision} # ${marker}\n` }
}

/** The promoter's credentials for the forge. */
export function forgeSecret(credentials: Readonly<Record<string, string>>): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: within('forge'), stringData: credentials }
}

/** Promotes what runs in staging into the preview, by a pull request that is merged as soon as the forge allows. */
export const shopPipeline = (url: string): KubeObject => ({
  apiVersion: pipeline.apiVersion,
  kind: pipeline.kind,
  metadata: within('shop'),
  spec: {
    appRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' },
    adapter: { healthy: 'true', revision: `self.metadata.annotations["${revisionAnnotation}"]` },
    settle: { quietPeriod: '2s' },
    environments: [
      {
        name: 'staging',
        appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'staging' },
        targets: [{ namespace: demoNamespace }],
      },
      { name: 'preview', targets: [{ namespace: demoNamespace }] },
    ],
    // The forge ends with the demo: there is no pull request to close then.
    withdrawal: 'Orphan',
    promotion: {
      strategy: {
        'pull-request': { type: 'gitea', url, baseBranch: 'main', autoMerge: true, secretRef: { name: 'forge' } },
      },
    },
  },
})

/** Makes the shop on-demand. */
export function shopService({ sleepsAfterSeconds }: Pace): KubeObject {
  const annotations = {
    'proxless/deployment': 'shop',
    'proxless/domains': shopDomain,
    'proxless/ttl-seconds': String(sleepsAfterSeconds),
  }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: within('shop', { annotations }),
    spec: { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 8080 }] },
  }
}

/** The state that the Cleaner's condition reads. */
export const pullRequest = (state: 'open' | 'merged'): KubeObject => configMap('pull-request', { state })

/** Unused objects: the first is deleted, the second opted out. */
export const unusedObjects: readonly KubeObject[] = [
  configMap('old-report', { result: '41 passed' }),
  configMap('screenshots', { front: 'a picture' }),
]

/** Deletes the namespace and its contents once the pull request is no longer open. */
export const previewCleaner: KubeObject = {
  apiVersion: cleaner.apiVersion,
  kind: cleaner.kind,
  metadata: within('preview'),
  spec: {
    ttl: '1s',
    targets: [
      {
        name: 'request',
        includeWhenEvaluating: true,
        reference: { version: 'v1', kind: 'ConfigMap', name: 'pull-request' },
      },
      { name: 'environment', delete: true, reference: { version: 'v1', kind: 'Namespace', name: demoNamespace } },
    ],
    conditions: ['request.data.state != "open"'],
  },
}

/** Tells owners by Events on their objects. */
export function eventChannel(owner: OwnerReference): KubeObject {
  return {
    apiVersion: notificationChannel.apiVersion,
    kind: notificationChannel.kind,
    metadata: { name: demoName, ownerReferences: [owner] },
    spec: { type: 'event' },
  }
}

/** Marks unused ConfigMaps, tells their owner, and deletes them a short while later. */
export function unusedPolicy(owner: OwnerReference, { deletesAfterSeconds }: Pace): KubeObject {
  return {
    apiVersion: cleanupPolicy.apiVersion,
    kind: cleanupPolicy.kind,
    metadata: { name: demoName, ownerReferences: [owner] },
    spec: {
      interval: '2s',
      targets: [
        {
          kubernetes: {
            resources: [{ kind: 'ConfigMap' }],
            namespaces: { include: [demoNamespace] },
            customReferences: 'Ignore',
          },
        },
      ],
      rules: [{ rules: [{ name: 'Unused' }] }],
      exclusions: [
        { type: 'Literal', attributes: [{ key: 'name', value: ['kube-root-ca.crt', 'pull-request', 'staging'] }] },
      ],
      minAge: '1s',
      retention: { duration: `${deletesAfterSeconds}s` },
      owner: { default: 'team-shop@example.org' },
      notification: { channels: [demoName] },
      limits: { maxDeletePercent: 100 },
    },
  }
}

/** Keeps the screenshots from being deleted by any system. */
export function screenshotsOptOut(owner: OwnerReference): KubeObject {
  return {
    apiVersion: cleanupOptOut.apiVersion,
    kind: cleanupOptOut.kind,
    metadata: { name: demoName, ownerReferences: [owner] },
    spec: {
      resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: demoNamespace, name: 'screenshots' },
      reason: 'the designer has not seen them yet',
      requestedBy: 'team-shop@example.org',
    },
  }
}

function configMap(name: string, data: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: within(name), data }
}
