import { describe, expect, it } from 'vitest'
import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { cloudUseOf } from './cloud-use.ts'
import type { ClusterSources } from './cluster-sources.ts'

const objects: Readonly<Record<string, readonly object[]>> = {
  deployments: [
    {
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 0, template: { spec: containers('repo/web:1') } },
    },
  ],
  cronjobs: [
    {
      kind: 'CronJob',
      metadata: { name: 'report' },
      spec: { jobTemplate: { spec: { template: { spec: { initContainers: [{ image: 'repo/init:2' }] } } } } },
    },
  ],
  persistentvolumes: [
    { kind: 'PersistentVolume', metadata: { name: 'data' }, spec: { csi: { volumeHandle: 'vol-1' } } },
    {
      kind: 'PersistentVolume',
      metadata: { name: 'old' },
      spec: { awsElasticBlockStore: { volumeID: 'aws://eu-west-1a/vol-2' } },
    },
  ],
}

function containers(image: string) {
  return { containers: [{ name: 'main', image }] }
}

describe('what workloads use of a cloud', () => {
  it('is every image of Pods and templates, and every volume of PersistentVolumes', async () => {
    const sources = {
      list: async ({ plural }: ResourceType) => (objects[plural] ?? []) as unknown as readonly StoredObject[],
    } as unknown as ClusterSources
    const users = await cloudUseOf([sources], new AbortController().signal)
    expect(Object.fromEntries(users)).toEqual({
      'repo/web:1': 'Deployment/web',
      'repo/init:2': 'CronJob/report',
      'vol-1': 'PersistentVolume/data',
      'vol-2': 'PersistentVolume/old',
    })
  })
})
