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
  volumesnapshotcontents: [
    {
      kind: 'VolumeSnapshotContent',
      metadata: { name: 'by-hand' },
      spec: { source: { snapshotHandle: 'snap-1' } },
    },
    {
      kind: 'VolumeSnapshotContent',
      metadata: { name: 'taken' },
      spec: { source: { volumeHandle: 'vol-1' } },
      status: { snapshotHandle: 'snap-2' },
    },
  ],
}

/** A cluster that serves these kinds and has these objects. */
function clusterWith(served: object | undefined): ClusterSources {
  return {
    client: { discovery: { typeOf: async () => served } },
    list: async ({ plural }: ResourceType) => (objects[plural] ?? []) as unknown as readonly StoredObject[],
  } as unknown as ClusterSources
}

function containers(image: string) {
  return { containers: [{ name: 'main', image }] }
}

describe('what workloads use of a cloud', () => {
  const { signal } = new AbortController()
  const always = {
    'repo/web:1': 'Deployment/web',
    'repo/init:2': 'CronJob/report',
    'vol-1': 'PersistentVolume/data',
    'vol-2': 'PersistentVolume/old',
  }

  it('is every image of Pods and templates, and every volume of PersistentVolumes', async () =>
    expect(Object.fromEntries(await cloudUseOf([clusterWith(undefined)], signal))).toEqual(always))

  it('is every snapshot of VolumeSnapshotContents, also of those made by hand, where the cluster serves them', async () =>
    expect(Object.fromEntries(await cloudUseOf([clusterWith({})], signal))).toEqual({
      ...always,
      'snap-1': 'VolumeSnapshotContent/by-hand',
      'snap-2': 'VolumeSnapshotContent/taken',
    }))
})
