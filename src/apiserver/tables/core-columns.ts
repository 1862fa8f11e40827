import type { KubeObject } from '../../kube/object.ts'
import { age, ageColumn, column, count, nameColumn, wide, type Column } from './column.ts'
import { joined, read, readList, readNumber, readText, sizeOf, conditionStatus } from './read.ts'
import { podColumns } from './pod-columns.ts'
import { labels } from './workload-columns.ts'

interface Port {
  readonly port?: number
  readonly nodePort?: number
  readonly protocol?: string
  readonly name?: string
}

/** The columns of the core group, by resource. */
export const coreColumns: Readonly<Record<string, readonly Column[]>> = {
  pods: podColumns,
  namespaces: [nameColumn, column('Status', (object) => readText(object, 'status.phase')), ageColumn],
  configmaps: [nameColumn, count('Data', (object) => sizeOf(object, 'data') + sizeOf(object, 'binaryData')), ageColumn],
  secrets: [
    nameColumn,
    column('Type', (object) => readText(object, 'type')),
    count('Data', (object) => sizeOf(object, 'data')),
    ageColumn,
  ],
  serviceaccounts: [nameColumn, ageColumn],
  services: [
    nameColumn,
    column('Type', (object) => readText(object, 'spec.type')),
    column('Cluster-IP', (object) => readText(object, 'spec.clusterIP', '<none>')),
    column('External-IP', externalAddress),
    column('Port(s)', servicePorts),
    ageColumn,
    ...wide(
      column('Selector', (object) => labels(read(object, 'spec.selector') as Record<string, string> | undefined)),
    ),
  ],
  endpoints: [nameColumn, column('Endpoints', endpoints), ageColumn],
  events: eventColumns('lastTimestamp', 'involvedObject', 'message'),
  nodes: [
    nameColumn,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    ageColumn,
    column('Version', (object) => readText(object, 'status.nodeInfo.kubeletVersion')),
    ...wide(
      column('Internal-IP', (object) => nodeAddress(object, 'InternalIP')),
      column('External-IP', (object) => nodeAddress(object, 'ExternalIP')),
      column('OS-Image', (object) => readText(object, 'status.nodeInfo.osImage', '<unknown>')),
      column('Kernel-Version', (object) => readText(object, 'status.nodeInfo.kernelVersion', '<unknown>')),
      column('Container-Runtime', (object) => readText(object, 'status.nodeInfo.containerRuntimeVersion', '<unknown>')),
    ),
  ],
  persistentvolumeclaims: [
    nameColumn,
    column('Status', (object) =>
      object.metadata.deletionTimestamp ? 'Terminating' : readText(object, 'status.phase'),
    ),
    column('Volume', (object) => readText(object, 'spec.volumeName')),
    column('Capacity', (object) => readText(object, 'status.capacity.storage')),
    column('Access Modes', (object) => accessModes(readList(object, 'status.accessModes'))),
    column('StorageClass', (object) => readText(object, 'spec.storageClassName')),
    column('VolumeAttributesClass', (object) => readText(object, 'spec.volumeAttributesClassName', '<unset>')),
    ageColumn,
    ...wide(column('VolumeMode', (object) => readText(object, 'spec.volumeMode', '<unset>'))),
  ],
  persistentvolumes: [
    nameColumn,
    column('Capacity', (object) => readText(object, 'spec.capacity.storage')),
    column('Access Modes', (object) => accessModes(readList(object, 'spec.accessModes'))),
    column('Reclaim Policy', (object) => readText(object, 'spec.persistentVolumeReclaimPolicy')),
    column('Status', (object) =>
      object.metadata.deletionTimestamp ? 'Terminating' : readText(object, 'status.phase'),
    ),
    column('Claim', claim),
    column('StorageClass', (object) => readText(object, 'spec.storageClassName')),
    column('VolumeAttributesClass', (object) => readText(object, 'spec.volumeAttributesClassName', '<unset>')),
    column('Reason', (object) => readText(object, 'status.reason')),
    ageColumn,
    ...wide(column('VolumeMode', (object) => readText(object, 'spec.volumeMode', '<unset>'))),
  ],
  resourcequotas: [
    nameColumn,
    column('Request', (object) => quota(object, (name) => !name.startsWith('limits.'))),
    column('Limit', (object) => quota(object, (name) => name.startsWith('limits.'))),
    ageColumn,
  ],
  limitranges: [nameColumn, { name: 'Created At', cell: (object) => object.metadata.creationTimestamp }],
  podtemplates: [
    nameColumn,
    column('Containers', (object) => names(object, 'template.spec.containers', 'name')),
    column('Images', (object) => names(object, 'template.spec.containers', 'image')),
    column('Pod Labels', (object) =>
      labels(read(object, 'template.metadata.labels') as Record<string, string> | undefined),
    ),
  ],
}

/** The columns of core and events.k8s.io Events, whose fields have different names. */
export function eventColumns(lastField: string, objectField: string, messageField: string): readonly Column[] {
  return [
    { name: 'Last Seen', cell: (event, now) => lastSeen(event, lastField, now) },
    column('Type', (event) => readText(event, 'type')),
    column('Reason', (event) => readText(event, 'reason')),
    column('Object', (event) => {
      const kind = readText(event, `${objectField}.kind`).toLowerCase()
      return kind ? `${kind}/${readText(event, `${objectField}.name`)}` : readText(event, `${objectField}.name`)
    }),
    ...wide(
      column('Subobject', (event) => readText(event, `${objectField}.fieldPath`)),
      column('Source', (event) =>
        [
          readText(event, 'source.component') ||
            readText(event, 'reportingComponent') ||
            readText(event, 'reportingController'),
          readText(event, 'source.host'),
        ]
          .filter(Boolean)
          .join(', '),
      ),
    ),
    column('Message', (event) => readText(event, messageField).trim()),
    ...wide(
      { name: 'First Seen', cell: (event, now) => lastSeen(event, 'firstTimestamp', now) },
      column('Count', (event) => Math.max(1, readNumber(event, 'count'), readNumber(event, 'series.count'))),
      column('Name', (event) => event.metadata.name),
    ),
  ]
}

function lastSeen(event: KubeObject, field: string, now: number): string {
  const time = readText(event, 'series.lastObservedTime') || readText(event, field) || readText(event, 'eventTime')
  return age(time || event.metadata.creationTimestamp, now)
}

function externalAddress(service: KubeObject): string {
  const external = readList<string>(service, 'spec.externalIPs')
  switch (readText(service, 'spec.type')) {
    case 'ExternalName':
      return readText(service, 'spec.externalName')
    case 'LoadBalancer': {
      const ingress = readList<{ ip?: string; hostname?: string }>(service, 'status.loadBalancer.ingress')
      const all = [...ingress.map(({ ip, hostname }) => ip ?? hostname ?? ''), ...external]
      return all.length > 0 ? all.join(',') : '<pending>'
    }
    default:
      return joined(external)
  }
}

function servicePorts(service: KubeObject): string {
  return joined(
    readList<Port>(service, 'spec.ports').map(({ port, nodePort, protocol }) =>
      nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
    ),
  )
}

function endpoints(object: KubeObject): string {
  const all = readList<{ addresses?: { ip: string }[]; ports?: Port[] }>(object, 'subsets').flatMap(
    ({ addresses = [], ports }) =>
      ports ? ports.flatMap(({ port }) => addresses.map(({ ip }) => `${ip}:${port}`)) : addresses.map(({ ip }) => ip),
  )
  const shown = all.slice(0, 3).join(',')
  return all.length > 3 ? `${shown} + ${all.length - 3} more...` : shown || '<none>'
}

function nodeStatus(node: KubeObject): string {
  const ready = conditionStatus(node, 'Ready')
  const words = [ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady']
  if (read(node, 'spec.unschedulable') === true) words.push('SchedulingDisabled')
  return words.join(',')
}

function nodeRoles({ metadata }: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/'
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix) && label !== prefix)
  return joined(roles.map((label) => label.slice(prefix.length)).toSorted())
}

function nodeAddress(node: KubeObject, type: string): string {
  const addresses = readList<{ type?: string; address?: string }>(node, 'status.addresses')
  return addresses.find((address) => address.type === type)?.address ?? '<none>'
}

const modeNames: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}

function accessModes(modes: readonly unknown[]): string {
  return modes.map((mode) => modeNames[mode as string] ?? mode).join(',')
}

function claim(volume: KubeObject): string {
  const name = readText(volume, 'spec.claimRef.name')
  return name && `${readText(volume, 'spec.claimRef.namespace')}/${name}`
}

function quota(object: KubeObject, isWanted: (name: string) => boolean): string {
  const hard = Object.keys((read(object, 'status.hard') ?? {}) as object)
    .filter(isWanted)
    .toSorted()
  const used = (read(object, 'status.used') ?? {}) as Record<string, string>
  const limits = (read(object, 'status.hard') ?? {}) as Record<string, string>
  return hard.map((name) => `${name}: ${used[name] ?? 0}/${limits[name]}`).join(', ')
}

function names(object: KubeObject, path: string, field: string): string {
  return readList(object, path)
    .map((item) => item[field])
    .join(',')
}
