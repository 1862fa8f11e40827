import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../client/client.ts'
import { configMaps, endpointSlices, serviceAccounts } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Pod } from '../types.ts'

/**
 * What tells a process where the API server is, and as whom it may talk to it. A local process has no volumes, so that the token
 * is in a kubeconfig instead, which client libraries and kubectl read; beside it are the files that a container finds in its
 * token volume. Empty while the server does not listen.
 */
export async function apiAccess(client: Client, pod: Pod, directory: string): Promise<Record<string, string>> {
  const { name, namespace = '', uid } = pod.metadata
  const slice = await client
    .get<Slice>(endpointSlices, { namespace: 'default', name: 'kubernetes' })
    .catch(ignoring('NotFound'))
  const [host, port] = [slice?.endpoints?.[0]?.addresses[0], slice?.ports?.[0]?.port]
  if (!host || !port) return {}
  const found = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: String(port) }
  const volumes = (pod.spec['volumes'] ?? []) as readonly { readonly name: string }[]
  if (!volumes.some((volume) => volume.name.startsWith('kube-api-access-'))) return found
  // Longer than any Pod lives: the token ends with the Pod that it is bound to.
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid }
  const request = { metadata: { name: pod.spec.serviceAccountName ?? 'default', namespace } }
  const spec = { expirationSeconds: 365 * 24 * 3600, boundObjectRef }
  const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }
  const issued = await client.create<StoredObject>(
    serviceAccounts,
    { ...kind, ...request, spec },
    { subresource: 'token' },
  )
  const { token } = issued.status as { token: string }
  const authority = await client.get<StoredObject>(configMaps, { namespace, name: 'kube-root-ca.crt' })
  const { 'ca.crt': certificate = '' } = authority.data as Record<string, string>
  const ca = Buffer.from(certificate).toString('base64')
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const own = join(directory, uid)
  mkdirSync(own, { recursive: true })
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'pod',
    clusters: [{ name: 'pod', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'pod', user: { token } }],
    contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod', namespace } }],
  }
  const files = { token, 'ca.crt': certificate, namespace, kubeconfig: JSON.stringify(config) }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(own, file), text, { mode: 0o600 })
  return { ...found, KUBECONFIG: join(own, 'kubeconfig') }
}

type Slice = { readonly endpoints?: { addresses: string[] }[]; readonly ports?: { port?: number }[] }
