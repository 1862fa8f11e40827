import { KeyedLoop } from '../../apiserver/objects/upkeep/keyed-loop.ts'
import type { Instance } from '../core/instance.ts'
import { configMaps } from '../../kube/core-types.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { ownVersion } from '../config/version.ts'

const name = 'sojourn-endpoints'

/** Publishes the addresses of this `sojourn up` in a ConfigMap; `none` where nothing listens. Tries again while a policy of users refuses it. */
export async function publishEndpoints(
  { client, clock, lifecycle }: Pick<Instance, 'client' | 'clock' | 'lifecycle'>,
  endpoints: { api: string; proxy: string },
  onError: (error: unknown) => void,
): Promise<void> {
  const metadata = { namespace: sojournNamespace, name, labels: { 'app.kubernetes.io/part-of': 'sojourn' } }
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...endpoints, version: ownVersion() } }
  const work = async () => void (await client.apply(configMaps, body, { force: true }))
  const loop = new KeyedLoop({ clock, work, onError })
  lifecycle.onStop(() => loop.close())
  await work().catch(() => loop.add(name))
}

/** Where the proxy of the `sojourn up` behind this client listens; undefined on any other cluster. */
export async function readProxyAddress(client: Client): Promise<string | undefined> {
  const { proxy } = await readEndpoints(client)
  return proxy === 'none' ? undefined : proxy
}

/** The version of the `sojourn up` behind this client; undefined on any other cluster. */
export async function readServerVersion(client: Client): Promise<string | undefined> {
  return (await readEndpoints(client)).version
}

async function readEndpoints(client: Client): Promise<{ readonly proxy?: string; readonly version?: string }> {
  const found = await client
    .get<StoredObject & { data?: { proxy?: string; version?: string } }>(configMaps, {
      namespace: sojournNamespace,
      name,
    })
    .catch(ignoring('NotFound', 'Forbidden'))
  return found?.data ?? {}
}
