import { customResourceDefinitions, namespaces } from '../kube/core-types.ts'
import { allKinds } from '../apis/all-kinds.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import { deepEqual } from '../kube/patches/patch.ts'
import { ignoring } from '../kube/status-error.ts'

/** Creates or updates Sojourn's CRDs and namespace on a server; writes only what differs. */
export async function registerKinds(client: Client): Promise<void> {
  await Promise.all([ensureNamespace(client), ...allKinds.map(({ crd }) => ensureDefinition(client, crd))])
}

async function ensureNamespace(client: Client): Promise<void> {
  const labels = { 'app.kubernetes.io/part-of': 'sojourn' }
  await client
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sojournNamespace, labels } })
    .catch(ignoring('AlreadyExists'))
}

async function ensureDefinition(client: Client, crd: KubeObject): Promise<void> {
  const name = crd.metadata.name ?? ''
  const found = await client.get<StoredObject>(customResourceDefinitions, { name }).catch(ignoring('NotFound'))
  if (!found) return void (await client.create(customResourceDefinitions, crd).catch(ignoring('AlreadyExists')))
  const written = { ...(found.spec as Record<string, unknown>), ...(crd.spec as Record<string, unknown>) }
  if (!deepEqual(found.spec, written)) await client.update(customResourceDefinitions, { ...found, spec: written })
}
