import { namespaces } from '../../src/kube/core-types.ts'
import { helmRelease, type TestCluster } from '../../test/promoter/cluster.ts'
import { pipeline as pipelineKind } from '../../src/apis/pipeline.ts'
import type { StoredObject } from '../../src/kube/object.ts'

export interface Size {
  readonly pipelines: number
  readonly environments: number
  readonly targets: number
}

export const environmentName = (index: number) => `env-${index}`
export const namespaceName = (environment: number, target: number) => `env-${environment}-${target}`

/** Pipelines and the releases they are about, all at one version. */
export async function fill({ client }: TestCluster, size: Size): Promise<void> {
  const places = Array.from({ length: size.environments }, (_, environment) =>
    Array.from({ length: size.targets }, (__, target) => namespaceName(environment, target)),
  )
  for (const name of ['team', ...places.flat()])
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await inBatches(size.pipelines, async (index) => {
    for (const namespace of places.flat()) await release(client, namespace, `app-${index}`, '1.0.0')
    await client.create(pipelineKind.type, {
      apiVersion: pipelineKind.apiVersion,
      kind: 'Pipeline',
      metadata: { namespace: 'team', name: `app-${index}` },
      spec: {
        appRef: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', name: `app-${index}` },
        settle: { quietPeriod: '0s' },
        promotion: { strategy: { notification: {} } },
        environments: places.map((namespaces, environment) => ({
          name: environmentName(environment),
          targets: namespaces.map((namespace) => ({ namespace })),
        })),
      },
    })
  })
}

/** A release that is ready at this version. */
export async function release(
  client: TestCluster['client'],
  namespace: string,
  name: string,
  version: string,
): Promise<void> {
  const place = { namespace, name }
  const status = {
    observedGeneration: 1,
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Test', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
    history: [{ version: 1, status: 'deployed', chartVersion: version }],
  }
  const created = await client.create<StoredObject>(helmRelease, {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: place,
    spec: {},
  })
  await client.update(helmRelease, { ...created, status }, { subresource: 'status' })
}

async function inBatches(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}
