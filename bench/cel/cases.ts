/** The condition of the cleaner's founding document. */
export const seedCondition = `!revisions.items.exists(r,
  r.metadata.annotations["serving.knative.dev/routes"]
    .split(",")
    .exists(route, !route.startsWith("sfj-") && !route.startsWith("preview-"))
  ||
  r.status.conditions
    .filter(c, c.type == "Active")
    .exists(c, c.status == "True" || time - timestamp(c.lastTransitionTime) < duration("360h"))
)`

export interface Case {
  readonly name: string
  readonly source: string
}

export const now = '2026-11-15T00:00:00.123Z'

/** What is measured; every engine evaluates the same expressions on the same data. */
export const cases: readonly Case[] = [
  { name: 'a.b.c == "x"', source: 'a.b.c == "x"' },
  ...[2, 20, 200].map((count) => ({
    name: `seed, ${count} revisions`,
    source: seedCondition.replace('revisions', `revisions${count}`),
  })),
  { name: 'filter, map, exists over 10 000', source: 'rows.filter(i, i.v > 50).map(i, i.v * 2).exists(x, x == 9999)' },
  { name: 'map, filter, size over 100', source: 'size(numbers.map(n, n * 2).filter(n, n > 50)) == 74' },
]

/** The variables of the cases, as JSON. */
export function variables(): Record<string, unknown> {
  return {
    a: { b: { c: 'x' } },
    revisions2: revisions(2),
    revisions20: revisions(20),
    revisions200: revisions(200),
    rows: Array.from({ length: 10_000 }, (_, index) => ({ v: index % 97, name: `n${index}` })),
    numbers: Array.from({ length: 100 }, (_, index) => index),
  }
}

/** Revisions as Knative has them, none of which ends the search early. */
function revisions(count: number): unknown {
  return {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'RevisionList',
    metadata: { resourceVersion: '1' },
    items: Array.from({ length: count }, (_, index) => revision(index)),
  }
}

function revision(index: number): unknown {
  const name = `sfj-commit--account-${String(index).padStart(5, '0')}`
  return {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Revision',
    metadata: {
      name,
      namespace: 'faststore-proxy',
      uid: `6f5a0d1c-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(100_000 + index),
      generation: 1,
      creationTimestamp: '2026-09-01T10:00:00Z',
      labels: {
        'serving.knative.dev/configuration': 'sfj-commit--account',
        'serving.knative.dev/configurationGeneration': String(index),
        'serving.knative.dev/service': 'sfj-commit--account',
        'vtex.io/proxy': 'p1',
      },
      annotations: {
        'autoscaling.knative.dev/max-scale': '3',
        'client.knative.dev/user-image': 'registry.example/site',
        'serving.knative.dev/creator': 'system:serviceaccount:faststore-proxy:launcher',
        'serving.knative.dev/routes': `sfj-${index}--account,preview-${index}--account`,
        'serving.knative.dev/routingStateModified': '2026-09-01T10:00:00Z',
      },
    },
    spec: {
      containerConcurrency: 0,
      timeoutSeconds: 300,
      containers: [{ name: 'user-container', image: 'registry.example/site', ports: [{ containerPort: 8080 }] }],
    },
    status: { observedGeneration: 1, conditions: conditions() },
  }
}

function conditions(): unknown[] {
  return [
    { type: 'Active', status: 'False', reason: 'NoTraffic', lastTransitionTime: '2026-09-01T10:05:00Z' },
    { type: 'ContainerHealthy', status: 'True', lastTransitionTime: '2026-09-01T10:01:00Z' },
    { type: 'Ready', status: 'True', lastTransitionTime: '2026-09-01T10:01:00Z' },
    { type: 'ResourcesAvailable', status: 'True', lastTransitionTime: '2026-09-01T10:01:00Z' },
  ]
}
