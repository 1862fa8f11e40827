import { departure, type Departure } from '../../apis/departure.ts'
import { environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import { restore, type Restored, type RestoreOptions } from '../../departures/restore/restore.ts'
import type { KubeObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'

/** Restores the objects in a departure record; see src/departures/restore/restore.ts. An environment comes back asleep. */
export async function restoreDeparture(
  client: Client,
  place: { namespace: string; name: string },
  options: RestoreOptions,
): Promise<Restored> {
  const record = await client.get<Departure>(departure.type, place)
  return restore(client, record, { prepare: (all) => asleep(all, options.now), ...options })
}

const extendMs = 3 * 86_400_000

/** Environments come back with their workloads asleep, kept for three days: what made them due is mostly still so. */
function asleep(all: readonly KubeObject[], now: number): (manifest: KubeObject) => KubeObject {
  const isEnvironment = ({ apiVersion, kind }: KubeObject) =>
    apiVersion === environment.apiVersion && kind === environment.kind
  const homes = new Set(all.filter(isEnvironment).map(({ metadata }) => metadata.namespace))
  return (manifest) => {
    const { kind, metadata } = manifest
    if (!homes.has(metadata.namespace)) return manifest
    const spec = (manifest.spec ?? {}) as Readonly<Record<string, unknown>>
    if (isEnvironment(manifest)) return { ...manifest, spec: { ...spec, keepUntil: formatTime(now + extendMs) } }
    const { replicas = 1 } = spec as { replicas?: number }
    if (!['Deployment', 'StatefulSet'].includes(kind) || replicas === 0) return manifest
    const annotations = { ...metadata.annotations, 'sojourn.dev/former-replicas': String(replicas) }
    return { ...manifest, metadata: { ...metadata, annotations }, spec: { ...spec, replicas: 0 } }
  }
}
