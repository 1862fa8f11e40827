import { configMaps, namespaces } from '../../src/kube/core-types.ts'
import type { Client } from '../../src/client/client.ts'

/** Makes objects of about two kilobytes each, in ten namespaces, many at once. */
export async function fillCluster(client: Client, count: number, progress: (done: number) => void): Promise<void> {
  for (let index = 0; index < 10; index++) {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `bench-${index}` } })
  }
  let next = 0
  const worker = async () => {
    while (next < count) {
      const index = next++
      await client.create(configMaps, objectOf(index))
      if (index % 10_000 === 0) progress(index)
    }
  }
  await Promise.all(Array.from({ length: 48 }, worker))
}

function objectOf(index: number) {
  const name = `object-${String(index).padStart(6, '0')}`
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: `bench-${index % 10}`,
      labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': `part-${index % 100}`, tier: 'backend' },
      annotations: { 'example.com/checksum': `${index}`.padStart(64, '0'), 'example.com/owner': `team-${index % 50}` },
    },
    // Some keys with short values and one with a long one, about as objects in the wild are.
    data: {
      ...Object.fromEntries(Array.from({ length: 12 }, (_, key) => [`setting-${key}`, `value ${key} of ${name}`])),
      'config.yaml': `# ${name}\n${'some line of configuration\n'.repeat(35)}`,
    },
  }
}
