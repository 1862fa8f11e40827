import type { KubeObject } from '../../../src/kube/object.ts'
import type { Transport, WatchEvent } from '../../../src/kube/transport.ts'

/** Marks every new Job complete and every new Deployment available. */
export async function pretendControllers(transport: Transport, signal: AbortSignal): Promise<void> {
  await Promise.all([
    settle(transport, signal, '/apis/batch/v1/jobs', ({ metadata }) => {
      const time = metadata.creationTimestamp
      const condition = { status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: 'CompletionsReached' }
      return {
        succeeded: 1,
        ready: 0,
        terminating: 0,
        uncountedTerminatedPods: {},
        startTime: time,
        completionTime: time,
        conditions: [
          { ...condition, type: 'SuccessCriteriaMet' },
          { ...condition, type: 'Complete' },
        ],
      }
    }),
    settle(transport, signal, '/apis/apps/v1/deployments', ({ metadata, spec }) => {
      const { replicas = 1 } = spec as { replicas?: number }
      const time = metadata.creationTimestamp
      const condition = { status: 'True', lastUpdateTime: time, lastTransitionTime: time }
      return {
        observedGeneration: metadata.generation,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
        conditions: [
          { ...condition, type: 'Available', reason: 'MinimumReplicasAvailable' },
          { ...condition, type: 'Progressing', reason: 'NewReplicaSetAvailable' },
        ],
      }
    }),
  ])
}

async function settle(
  transport: Transport,
  signal: AbortSignal,
  path: string,
  statusOf: (object: KubeObject) => Record<string, unknown>,
): Promise<void> {
  const { stream = [] } = await transport({ method: 'GET', path, query: { watch: 'true' }, signal })
  for await (const event of stream as AsyncIterable<WatchEvent<KubeObject>>) {
    const { type, object } = event
    const seen = (object.status as { observedGeneration?: number; succeeded?: number } | undefined) ?? {}
    if (type === 'DELETED' || seen.succeeded || seen.observedGeneration === object.metadata.generation) continue
    const { namespace, name } = object.metadata
    await transport({
      method: 'PATCH',
      path: `${path.replace(/\/(\w+)$/, `/namespaces/${namespace}/$1`)}/${name}/status`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { status: statusOf(object) },
    })
  }
}
