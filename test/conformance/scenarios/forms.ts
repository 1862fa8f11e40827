import type { Scenario, Step } from '../target.ts'

const configMaps = '/api/v1/namespaces/NS/configmaps'
const yaml = { accept: 'application/yaml' }

/** Other forms of an answer than compact JSON. */
export const forms: Scenario = {
  name: 'forms',
  steps: [
    { path: '/api/v1/namespaces/NS', headers: yaml, unlike: true },
    { path: `${configMaps}/missing`, headers: yaml },
    { path: `${configMaps}?watch=true`, headers: yaml },
    { path: `${configMaps}/missing?pretty=true` },
    { path: '/', unlike: true },
    { method: 'POST', path: `${configMaps}?dryRun=All`, body: { metadata: { name: 'x', resourceVersion: '7' } } },
  ],
}

const service = (name: string, spec: object): Step => ({
  method: 'POST',
  path: '/api/v1/namespaces/NS/services',
  body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } },
})

/** Addresses and ports that another Service has. */
export const serviceAddresses: Scenario = {
  name: 'service-addresses',
  steps: [
    { ...service('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_123 }] }), unlike: true },
    service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_123 }] }),
    service('b', {
      type: 'NodePort',
      ports: [
        { name: 'x', port: 81 },
        { name: 'y', port: 80, nodePort: 30_123 },
      ],
    }),
    { method: 'DELETE', path: '/api/v1/namespaces/NS/services/a', unlike: true },
    {
      ...service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_123 }] }),
      until: 201,
      unlike: true,
    },
  ],
}

/** A template of Pods: unlike a Pod it needs no ServiceAccount, which the other server does not create by itself. */
const pod = (spec: object, annotations: object = {}): Step => ({
  method: 'POST',
  path: '/api/v1/namespaces/NS/podtemplates?dryRun=All',
  body: {
    metadata: { name: 'p' },
    template: { metadata: { annotations }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } },
  },
  unlike: true,
})
const container = (more: object) => ({ containers: [{ name: 'c', image: 'i', ...more }] })

const warned = (steps: readonly Step[]): readonly Step[] => steps.map((step) => ({ ...step, warnings: true }))

/** What is accepted with a warning. */
export const warnings: Scenario = {
  name: 'warnings',
  steps: warned([
    pod({}),
    pod(
      {},
      {
        'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default',
        'scheduler.alpha.kubernetes.io/critical-pod': '',
      },
    ),
    pod({ nodeSelector: { 'beta.kubernetes.io/os': 'linux', 'failure-domain.beta.kubernetes.io/zone': 'a' } }),
    pod({ hostAliases: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }], imagePullSecrets: [{}] }),
    pod({ terminationGracePeriodSeconds: -1 }),
    pod(container({ env: [{ name: 'A' }, { name: 'B' }, { name: 'A', value: 'x' }] })),
    pod(container({ ports: [{ containerPort: 80 }, { containerPort: 80 }] })),
    pod(
      container({ resources: { requests: { memory: '100m' }, limits: { memory: '1.5', 'ephemeral-storage': '1m' } } }),
    ),
    {
      method: 'POST',
      path: '/apis/apps/v1/namespaces/NS/deployments?dryRun=All',
      body: {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: {
              ...container({ env: [{ name: 'A' }, { name: 'A' }] }),
              nodeSelector: { 'beta.kubernetes.io/arch': 'x' },
            },
          },
        },
      },
      unlike: true,
    },
    { path: '/api/v1/namespaces/NS/endpoints', unlike: true },
  ]),
}

const definition = (group: string, annotations: object): Step => ({
  method: 'POST',
  path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All',
  body: {
    metadata: { name: `gadgets.${group}`, annotations },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', kind: 'Gadget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
  },
  unlike: true,
})

/** Groups of the Kubernetes project. */
export const approvals: Scenario = {
  name: 'approvals',
  steps: [
    definition('gadgets.k8s.io', {}),
    definition('gadgets.kubernetes.io', { 'api-approved.kubernetes.io': 'yes' }),
    definition('gadgets.k8s.io', { 'api-approved.kubernetes.io': 'unapproved, an experiment' }),
    definition('gadgets.k8s.io', { 'api-approved.kubernetes.io': 'https://example.com/pull/1' }),
    definition('gadgetsk8s.io', {}),
  ],
}
