import type { ClusterRole } from '../src/app/install/rbac.ts'
import type { KubeObject } from '../src/kube/object.ts'

/** What gives each role something to do, besides what it needs for the door. */
export const work: Readonly<Record<ClusterRole, readonly KubeObject[]>> = {
  cleaner: [
    {
      apiVersion: 'cleaner.vtex.dev/v1alpha',
      kind: 'Cleaner',
      metadata: { name: 'short', namespace: 'team' },
      spec: { ttl: '1s' },
    },
  ],
  collector: [
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Bond',
      metadata: { name: 'both', namespace: 'team' },
      spec: {
        onDelete: 'Hold',
        dependency: { apiVersion: 'v1', kind: 'Namespace', name: 'team' },
        dependent: { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Bond', name: 'other' },
      },
    },
  ],
  janitor: [
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'CleanupPolicy',
      metadata: { name: 'unused' },
      spec: {
        targets: [{ kubernetes: { resources: [{ kind: 'Service' }] } }],
        rules: [{ rules: [{ name: 'Expression', parameters: { expression: 'true' } }] }],
        minAge: '0',
        notification: { channels: ['events'] },
        owner: { default: 'team@example.com' },
      },
    },
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'NotificationChannel',
      metadata: { name: 'events' },
      spec: { type: 'event' },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'old', namespace: 'team' },
      spec: { ports: [{ port: 80 }] },
    },
  ],
  environments: [
    {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'team' } }, delete: { after: '7d' } },
    },
  ],
  promoter: [
    {
      apiVersion: 'pipelines.weave.works/v1alpha1',
      kind: 'Pipeline',
      metadata: { name: 'web', namespace: 'team' },
      spec: {
        appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: 'web' },
        environments: [{ name: 'dev', targets: [{ namespace: 'team' }] }],
      },
    },
  ],
  activator: [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'web',
        namespace: 'team',
        annotations: { 'proxless/deployment': 'web', 'proxless/ttl-seconds': '1' },
      },
      spec: { ports: [{ port: 80 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'team' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
      },
    },
  ],
}

/** A request that only comes once the role has looked at its work and done some. */
export const proofOfWork: Readonly<Record<ClusterRole, RegExp>> = {
  cleaner: /^DELETE .*cleaners\/short$/,
  collector: /^PUT .*bonds\/both\/status$/,
  janitor: /^PUT .*cleanupcandidates\/.*\/status$/,
  environments: /^PUT .*environments\/team\/status$/,
  promoter: /^PUT .*pipelines\/web\/status$/,
  activator: /^POST .*\/namespaces\/team\/endpointslices$/,
}
