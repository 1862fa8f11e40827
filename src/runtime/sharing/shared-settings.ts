import type { Client } from '../../client/client.ts'
import { configMaps } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'

/** Changes these keys of a ConfigMap of Sojourn, which is created if it is missing. Null removes a key. */
export async function writeSettings(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
  change: Readonly<Record<string, string | null>>,
): Promise<StoredObject> {
  try {
    return await client.merge(configMaps, place, { data: change })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    const data = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null))
    const metadata = { ...place, labels: { 'app.kubernetes.io/part-of': 'sojourn' } }
    return client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
  }
}
