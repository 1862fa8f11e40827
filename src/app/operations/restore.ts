import { departure, type Departure } from '../../apis/departure.ts'
import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import { findRecord, type DeletedObject } from '../../departures/restore/find-record.ts'
import { restore, type Restored, type RestoreOptions } from '../../departures/restore/restore.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { asleep } from '../../systems/activator/model/power-kinds.ts'
import { readClass } from '../../systems/environments/decision/rules.ts'

/** Restores the objects in a departure record; see src/departures/restore/restore.ts. An environment comes back asleep. */
export async function restoreDeparture(
  client: Client,
  place: { namespace: string; name: string },
  options: RestoreOptions,
): Promise<Restored> {
  const record = await client.get<Departure>(departure.type, place)
  const classes =
    record.spec.object.kind === 'Namespace'
      ? await client.list<EnvironmentClass>(environmentClass.type).catch(ignoring('NotFound', 'Forbidden'))
      : undefined
  return restore(client, record, { prepare: (all) => asAsleep(all, classes?.items ?? [], options.now), ...options })
}

/** The newest record of a deleted object, and whose decision deleted it where the record holds several. */
export async function recordOf(client: Client, deleted: DeletedObject) {
  const { record, decidedBy } = await findRecord(client, deleted)
  const { namespace = '', name } = record.metadata
  return { namespace, name, decidedBy, spec: record.spec }
}

/** Environments come back with their workloads asleep, and kept for a while: what made them due is mostly still so. */
function asAsleep(
  all: readonly KubeObject[],
  classes: readonly EnvironmentClass[],
  now: number,
): (manifest: KubeObject) => KubeObject {
  const isEnvironment = ({ apiVersion, kind }: KubeObject) =>
    apiVersion === environment.apiVersion && kind === environment.kind
  const homes = new Set(all.filter(isEnvironment).map(({ metadata }) => metadata.namespace))
  return (manifest) => {
    if (!homes.has(manifest.metadata.namespace)) return manifest
    if (!isEnvironment(manifest)) return asleep(manifest, now)
    const { spec } = manifest as Environment
    const found = classes.find(({ metadata }) => metadata.name === spec.className)
    const { extendMs } = readClass(found?.spec ?? { namespaceSelector: {} }).rules
    const keepUntil = formatTime(Math.max(now + extendMs, parseTime(spec.keepUntil) ?? 0))
    return { ...manifest, spec: { ...spec, keepUntil } }
  }
}
