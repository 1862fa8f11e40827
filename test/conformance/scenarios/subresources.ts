import type { Scenario, Step } from '../target.ts'

const pods = '/api/v1/namespaces/NS/pods'
const budgets = '/apis/policy/v1/namespaces/NS/poddisruptionbudgets'
const deployments = '/apis/apps/v1/namespaces/NS/deployments'

const pod = (name: string): Step => ({
  method: 'POST',
  path: pods,
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'guarded' } },
    spec: { serviceAccountName: 'robot', automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
  },
  unlike: true,
})
const withStatus = (path: string, status: unknown): Step => ({
  method: 'PATCH',
  path: `${path}/status`,
  body: { status },
  headers: { 'content-type': 'application/merge-patch+json' },
  unlike: true,
})
const running = (name: string, isReady = true) =>
  withStatus(`${pods}/${name}`, {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  })
const evict = (name: string, rest: Record<string, unknown> = {}, query = ''): Step => ({
  method: 'POST',
  path: `${pods}/${name}/eviction${query}`,
  body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'NS' }, ...rest },
})
const budgetStatus = (status: Record<string, unknown>) => withStatus(`${budgets}/b`, status)
const budget = (name: string) => ({
  method: 'POST' as const,
  path: budgets,
  body: {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } },
  },
  unlike: true,
})

/** Evictions under a budget, whose status stands in for the controller that keeps it. */
export const evictions: Scenario = {
  name: 'evictions',
  steps: [
    {
      method: 'POST',
      path: '/api/v1/namespaces/NS/serviceaccounts',
      body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } },
      unlike: true,
    },
    pod('pending'),
    pod('serving'),
    pod('second'),
    pod('sick'),
    running('serving'),
    running('second'),
    running('sick', false),
    budget('b'),
    evict('nope'),
    evict('serving', { metadata: { name: 'other' } }),
    evict('serving', { metadata: {} }),
    evict('serving'),
    evict('pending'),
    budgetStatus({
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 2,
      desiredHealthy: 2,
      expectedPods: 3,
    }),
    evict('serving'),
    evict('serving', {}, '?dryRun=All'),
    evict('sick'),
    budgetStatus({
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 2,
      expectedPods: 3,
    }),
    budgetStatus({ disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 }),
    evict('serving', {}, '?dryRun=All'),
    evict('serving', { deleteOptions: { preconditions: { uid: 'wrong' } } }),
    budgetStatus({ disruptionsAllowed: 1 }),
    evict('serving', { deleteOptions: { gracePeriodSeconds: 30 } }),
    { path: `${budgets}/b`, unlike: true },
    evict('second'),
    budget('c'),
    evict('second'),
    { method: 'POST', path: `${pods}/second/binding`, body: { metadata: { name: 'other' }, target: { name: 'n' } } },
    { method: 'DELETE', path: `${pods}/second?gracePeriodSeconds=0`, unlike: true },
  ],
}

/** Server-side apply of a Scale: only what was sent is owned. */
export const scaling: Scenario = {
  name: 'scaling',
  steps: [
    {
      method: 'POST',
      path: deployments,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
      unlike: true,
    },
    ...[
      { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 3 } },
      { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 'x' } },
      { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replicas: 3 } },
      { spec: { replicas: 3 } },
      { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 3, more: 1 } },
      { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' } },
    ].map((body): Step => ({
      method: 'PATCH',
      path: `${deployments}/d/scale?fieldManager=m&force=true`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    })),
    { path: `${deployments}/d/scale` },
    { method: 'DELETE', path: `${deployments}/d`, unlike: true },
  ],
}
