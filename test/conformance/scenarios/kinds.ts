import type { Scenario, Step } from '../target.ts'

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const deployment = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { selector: { matchLabels: { a: 'b' } }, template, ...spec },
})
const core = (plural: string, body: unknown): Step => ({
  method: 'POST',
  path: `/api/v1/namespaces/NS/${plural}`,
  body,
})
const deployments = '/apis/apps/v1/namespaces/NS/deployments'

/** Built-in kinds: their defaults, and their faults. */
export const builtins: Scenario = {
  name: 'builtins',
  steps: [
    { method: 'POST', path: deployments, body: deployment('d') },
    { method: 'POST', path: deployments, body: deployment('bad', { replicas: -1, selector: {} }) },
    { method: 'POST', path: deployments, body: deployment('bad', { selector: { matchLabels: { a: 'c' } } }) },
    {
      method: 'POST',
      path: deployments,
      body: deployment('bad', { template: { metadata: { labels: { a: 'b' } }, spec: { containers: [] } } }),
    },
    {
      method: 'POST',
      path: deployments,
      body: deployment('bad', {
        template: { ...template, spec: { containers: [{ name: 'C!' }], restartPolicy: 'Never' } },
      }),
    },
    { method: 'POST', path: deployments, body: deployment('bad', { strategy: { type: 'Twist' } }) },
    { method: 'POST', path: deployments, body: deployment('bad', { replicas: 'three' }) },
    {
      method: 'PUT',
      path: `${deployments}/d`,
      body: deployment('d', {
        selector: { matchLabels: { a: 'b', c: 'd' } },
        template: { ...template, metadata: { labels: { a: 'b', c: 'd' } } },
      }),
    },
    { path: `${deployments}/d/scale` },
    {
      method: 'PUT',
      path: `${deployments}/d/scale`,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'd', namespace: 'NS' },
        spec: { replicas: 4 },
      },
    },
    {
      method: 'PUT',
      path: `${deployments}/d/scale`,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'd', namespace: 'NS' },
        spec: { replicas: -4 },
      },
    },
    {
      method: 'PATCH',
      path: `${deployments}/d/status`,
      body: { status: { replicas: 1, observedGeneration: 1 } },
      headers: { 'content-type': 'application/merge-patch+json' },
    },
    { method: 'DELETE', path: `${deployments}/d`, unlike: true },
    core('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { selector: { a: 'b' }, ports: [{ port: 80 }] },
    }),
    core('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'S_' },
      spec: { ports: [{ port: 0 }, { port: 1, name: 'x' }], type: 'Twist' },
    }),
    core('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } }),
    core('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 't' }, data: { a: 'not base64!' } }),
    core('secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'u' },
      type: 'kubernetes.io/dockerconfigjson',
      data: {},
    }),
    core('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } }),
    core('serviceaccounts/robot/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 1 },
    }),
    core('serviceaccounts/nobody/token', { spec: {} }),
    core('limitranges', { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'l' }, spec: { limits: [] } }),
    core('resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec: { hard: { pods: 'many' } },
    }),
    core('events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', namespace: 'other', name: 'p' },
    }),
    {
      method: 'POST',
      path: '/apis/batch/v1/namespaces/NS/jobs',
      body: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'j' },
        spec: { template: { spec: { containers: [{ name: 'c', image: 'i' }] } } },
      },
    },
    {
      method: 'POST',
      path: '/apis/batch/v1/namespaces/NS/cronjobs',
      body: {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'c' },
        spec: {
          schedule: 'often',
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
          },
        },
      },
    },
    {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/NS/leases',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec: { holderIdentity: 'me', leaseDurationSeconds: 0 },
      },
    },
    {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/NS/leases',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'l' },
        spec: { holderIdentity: 'me', renewTime: '2026-01-02T03:04:05.678901Z' },
      },
    },
    {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'Bad_Name' } },
    },
    { method: 'DELETE', path: '/api/v1/namespaces/default' },
    { method: 'DELETE', path: '/api/v1/namespaces/kube-system' },
    { method: 'DELETE', path: '/api/v1/namespaces' },
    core('pods/nope/eviction', {}),
    core('pods/nope/eviction', { metadata: { name: 'nope' } }),
    core('pods/nope/binding', { target: { name: 'n' } }),
  ],
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = '/apis/conf.example.com/v1/namespaces/NS/widgets'
const definition = (
  overrides: Record<string, unknown> = {},
  schema: unknown = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: { size: { type: 'integer', minimum: 1 }, mode: { type: 'string', enum: ['a', 'b'], default: 'a' } },
      },
      status: { type: 'object', properties: { phase: { type: 'string' } } },
    },
  },
) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.conf.example.com' },
  spec: {
    group: 'conf.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
    ],
    ...overrides,
  },
})
const define = (body: unknown): Step => ({ method: 'POST', path: definitions, body })
const widget = (name: string, spec: unknown = { size: 1 }) => ({
  apiVersion: 'conf.example.com/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
})
const make = (body: unknown, query = ''): Step => ({ method: 'POST', path: `${widgets}${query}`, body })

/** Definitions that are refused, and what an accepted one lets through. */
export const definitionFaults: Scenario = {
  name: 'definitions',
  steps: [
    define({ ...definition(), metadata: { name: 'wrong' } }),
    define(definition({ scope: 'Sometimes' })),
    define(definition({ versions: [] })),
    define(definition({ names: { plural: 'Widgets', kind: 'widget!' } })),
    define(definition({}, { type: 'string' })),
    define(definition({}, { properties: { spec: {} } })),
    define(
      definition(
        {},
        {
          type: 'object',
          properties: { spec: { type: 'object', properties: { a: { type: 'integer', default: 'x' } } } },
        },
      ),
    ),
    define(
      definition(
        {},
        {
          type: 'object',
          properties: { spec: { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.nothing ==' }] } },
        },
      ),
    ),
    define(definition({ versions: [{ name: 'v1', served: true, storage: true }] })),
    define(
      definition({
        versions: [1, 2].map((number) => ({
          name: `v${number}`,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        })),
      }),
    ),
  ],
}

const ruled = (properties: Record<string, unknown>, rule: string) =>
  define(
    definition(
      {},
      {
        type: 'object',
        properties: { spec: { type: 'object', properties, 'x-kubernetes-validations': [{ rule }] } },
      },
    ),
  )
const texts = { type: 'array', items: { type: 'string' } }
const fewTexts = { type: 'array', maxItems: 64, items: { type: 'string', maxLength: 64 } }

/** Rules whose estimated cost the limits of their schema must bound. */
export const ruleCosts: Scenario = {
  name: 'rule-costs',
  steps: [
    ruled({ a: texts, b: texts }, 'self.a.all(x, self.b.exists(y, x == y))'),
    ruled({ a: texts }, 'self.a.all(x, x.matches("^[a-z]+$"))'),
    ruled({ a: texts }, 'self.a.map(x, x + "b").all(y, y.matches("^a"))'),
    { ...ruled({ a: texts }, 'self.a.all(x, x != "a")'), path: `${definitions}?dryRun=All`, unlike: true },
    {
      ...ruled({ a: fewTexts, b: fewTexts }, 'self.a.all(x, self.b.exists(y, x == y))'),
      path: `${definitions}?dryRun=All`,
      unlike: true,
    },
  ],
}

/** Custom resources. */
export const customResources: Scenario = {
  name: 'custom-resources',
  steps: [
    { ...define(definition()), unlike: true },
    { path: widgets, until: 200, unlike: true },
    { path: '/openapi/v3/apis/conf.example.com/v1', until: 200, unlike: true },
    make(widget('w')),
    make(widget('w')),
    make(widget('bad', {})),
    make(widget('bad', { size: 0, mode: 'c' })),
    make(widget('bad', { size: 'x' })),
    make(widget('bad', 7)),
    make({ ...widget('bad'), kind: 'Gadget' }),
    make({ ...widget('bad'), apiVersion: 'conf.example.com/v9' }),
    make(widget('pruned', { size: 1, more: 2 })),
    make(widget('strict', { size: 1, more: 2 }), '?fieldValidation=Strict'),
    { method: 'PUT', path: `${widgets}/w`, body: widget('w', { size: 2 }) },
    {
      method: 'PATCH',
      path: `${widgets}/w`,
      body: { spec: { size: 3 }, status: { phase: 'lost' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    },
    {
      method: 'PATCH',
      path: `${widgets}/w/status`,
      body: { spec: { size: 9 }, status: { phase: 'kept' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    },
    {
      method: 'PATCH',
      path: `${widgets}/w`,
      body: {},
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
    },
    { method: 'PATCH', path: `${widgets}/w`, body: {}, headers: { 'content-type': 'application/json' } },
    {
      method: 'PATCH',
      path: `${widgets}/w?fieldManager=m`,
      body: { ...widget('w', { size: 5 }) },
      headers: { 'content-type': 'application/apply-patch+yaml' },
    },
    { path: `${widgets}/w/scale` },
    { path: `${widgets}/nope` },
    { path: `${widgets}?fieldSelector=spec.size%3D1` },
    {
      path: `${widgets}/w`,
      headers: { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
      unlike: true,
    },
    { method: 'POST', path: widgets, headers: { 'content-type': 'text/plain' }, body: 'x' },
    { path: '/apis/conf.example.com/v1/namespaces/NS/nothings' },
    { path: '/apis/conf.example.com/v2/namespaces/NS/widgets' },
    { method: 'DELETE', path: `${widgets}/w` },
    { method: 'DELETE', path: `${definitions}/widgets.conf.example.com`, unlike: true },
  ],
}
