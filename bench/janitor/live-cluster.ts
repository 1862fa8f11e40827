import { allKinds } from '../../src/apis/all-kinds.ts'
import { sojournNamespace } from '../../src/apis/group.ts'
import { openSqliteStore } from '../../src/apiserver/store/sqlite-store.ts'
import { startTestServer } from '../../test/apiserver/test-server.ts'
import { Client } from '../../src/client/client.ts'
import type { KubeObject, ResourceType } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'

/** A cluster in a process of its own: so many ConfigMaps, two fifths of them in use by pods, in a database if one is named. Sends its kubeconfig when it is full. */
const [, , given = '100000', path] = process.argv
const count = Number(given)
const server = await startTestServer({
  clock: systemClock,
  ...(path === undefined ? {} : { store: openSqliteStore({ path, clock: systemClock }) }),
})
const client = new Client(server.transport)
const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const namespaces = Array.from({ length: 20 }, (_, index) => `team-${index}`)
const annotations = { owner: 'ann@example.org' }

for (const { crd } of allKinds) await create(crd)
for (const name of [sojournNamespace, ...namespaces])
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
for (let index = 0; index < count; index++)
  await client.create(core('ConfigMap', 'configmaps'), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `map-${index}`, namespace: namespaceOf(index), labels: { app: 'web' }, annotations },
    data: { key: 'value' },
  })
for (let index = 0; index < count / 5; index++)
  await client.create(core('Pod', 'pods'), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, namespace: namespaceOf(index), labels: { app: 'web' } },
    spec: {
      containers: [
        { name: 'web', image: 'web', envFrom: [{ configMapRef: { name: `map-${index}` } }] },
        {
          name: 'side',
          image: 'side',
          env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: `map-${index + count / 5}`, key: 'key' } } }],
        },
      ],
    },
  })
const { url } = await server.listen({ port: 0 })
process.send?.(server.kubeconfig(url))

function namespaceOf(index: number): string {
  return namespaces[index % namespaces.length] ?? 'default'
}

async function create(manifest: KubeObject): Promise<void> {
  const type = await client.discovery.typeOf(manifest)
  if (!type) throw new Error(`the server does not serve ${manifest.kind}`)
  await client.create(type, manifest)
}
