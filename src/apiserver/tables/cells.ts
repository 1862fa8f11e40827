import type { KubeObject } from '../../kube/object.ts'
import { formatSelector, requirementsOf, type LabelSelector } from '../../kube/selector.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import type { Subject } from '../auth/rbac.ts'
import { age } from './column.ts'
import { podReady, podRestarts, podStatus, readinessGates } from './pod-cells.ts'
import { conditionStatus, joined, read, readList, readNumber, readText, sizeOf } from './read.ts'

/** The parameters of a cell: a column of `columns.json`, and the time. */
export interface CellContext {
  /** The path of the field. */
  readonly field: string
  /** What is shown where there is none. */
  readonly or: string
  /** The part of the field, as the cell understands it. */
  readonly of: string
  readonly now: number
}

type Cell = (object: KubeObject, context: CellContext) => unknown

/** Cells that no field alone says, by the name that `columns.json` gives them. */
export const cells = {
  podReady,
  podStatus,
  podRestarts: (pod, { now }) => podRestarts(pod, now),
  readinessGates,
  externalAddress,
  servicePorts,
  endpoints,
  nodeStatus,
  nodeRoles,
  hosts,
  targets,
  jobStatus,
  completions,
  jobDuration: (job, { now }) => jobDuration(job, now),
  claim,
  // Shared by several kinds.
  flag: (object, { field }) => read(object, field) === true,
  truth: (object, { field }) => (read(object, field) === true ? 'True' : 'False'),
  trimmed: (object, { field }) => readText(object, field).trim(),
  length: (object, { field }) => readList(object, field).length,
  sizes: (object) => sizeOf(object, 'data') + sizeOf(object, 'binaryData'),
  each: (object, { field, of }) =>
    readList(object, field)
      .map((item) => item[of])
      .join(','),
  labels: (object, { field }) =>
    joined(Object.entries((read(object, field) ?? {}) as object).map(([key, value]) => `${key}=${value}`)),
  selector: (object, { field }) => selectorText(read(object, field) ?? {}),
  condition: (object, { of }) => conditionStatus(object, of) ?? '',
  reference: (object, { field }) => `${readText(object, `${field}.kind`)}/${readText(object, `${field}.name`)}`,
  since: (object, { field, or, now }) => {
    const time = readText(object, field)
    return time ? age(time, now) : or
  },
  ready: (object) => `${readNumber(object, 'status.readyReplicas')}/${readNumber(object, 'spec.replicas')}`,
  // Of one kind each.
  lastSeen: (event, { field, now }) => {
    const time = readText(event, 'series.lastObservedTime') || readText(event, field) || readText(event, 'eventTime')
    return age(time || event.metadata.creationTimestamp, now)
  },
  involved: (event, { field }) => {
    const kind = readText(event, `${field}.kind`).toLowerCase()
    return kind ? `${kind}/${readText(event, `${field}.name`)}` : readText(event, `${field}.name`)
  },
  source: (event) => {
    const reporter = readText(event, 'reportingComponent') || readText(event, 'reportingController')
    return [readText(event, 'source.component') || reporter, readText(event, 'source.host')].filter(Boolean).join(', ')
  },
  occurrences: (event) => Math.max(1, readNumber(event, 'count'), readNumber(event, 'series.count')),
  nodeAddress: (node, { of }) =>
    readList<{ type?: string; address?: string }>(node, 'status.addresses').find(({ type }) => type === of)?.address ??
    '<none>',
  volumePhase: (object) => (object.metadata.deletionTimestamp ? 'Terminating' : readText(object, 'status.phase')),
  accessModes: (object, { field }) =>
    readList<string>(object, field)
      .map((mode) => modeNames[mode] ?? mode)
      .join(','),
  quota: (object, { of }) => {
    const hard = (read(object, 'status.hard') ?? {}) as Record<string, string>
    const used = (read(object, 'status.used') ?? {}) as Record<string, string>
    const names = Object.keys(hard).filter((name) => name.startsWith('limits.') === (of === 'limits'))
    return names
      .toSorted()
      .map((name) => `${name}: ${used[name] ?? 0}/${hard[name]}`)
      .join(', ')
  },
  slicePorts: (slice) =>
    shortened(readList<{ port?: number }>(slice, 'ports').map(({ port }) => port ?? '*')) || '<unset>',
  sliceAddresses: (slice) =>
    shortened(readList<{ addresses?: string[] }>(slice, 'endpoints').flatMap(({ addresses = [] }) => addresses)) ||
    '<unset>',
  controller: ({ metadata }) => {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller)
    return owner ? `${owner.kind.toLowerCase()}.${owner.apiVersion.split('/')[0] ?? ''}/${owner.name}` : '<none>'
  },
  subjects: (binding, { of }) =>
    readList<Subject>(binding, 'subjects')
      .filter(({ kind }) => kind === of)
      .map(({ name, namespace }) => (of === 'ServiceAccount' ? `${namespace}/${name}` : name))
      .join(', '),
  ingressAddress: (ingress) =>
    readList<{ ip?: string; hostname?: string }>(ingress, 'status.loadBalancer.ingress')
      .map(({ ip, hostname }) => ip ?? hostname)
      .join(','),
  ingressPorts: (ingress) => (readList(ingress, 'spec.tls').length > 0 ? '80, 443' : '80'),
  parameters: (object) => {
    const { kind = '', apiGroup = '', name = '' } = (read(object, 'spec.parameters') ?? {}) as Record<string, string>
    return kind ? `${kind}.${apiGroup}/${name}` : '<none>'
  },
  storageClass: ({ metadata: { name, annotations } }) =>
    annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ? `${name} (default)` : name,
  paramKind: (object) => {
    const kind = readText(object, 'spec.paramKind.kind')
    return kind ? `${readText(object, 'spec.paramKind.apiVersion')}/${kind}` : '<unset>'
  },
} satisfies Readonly<Record<string, Cell>>

function selectorText(selector: unknown): string {
  if (typeof selector !== 'object' || selector === null) return '<none>'
  try {
    return formatSelector(requirementsOf(selector as LabelSelector)) || '<none>'
  } catch {
    return '<error>'
  }
}

/** The first three items, and how many there are more. */
function shortened(items: readonly unknown[]): string {
  const shown = items.slice(0, 3).join(',')
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown
}

interface Port {
  readonly port?: number
  readonly nodePort?: number
  readonly protocol?: string
}

const modeNames: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
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
  return shortened(all) || '<none>'
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

function claim(volume: KubeObject): string {
  const name = readText(volume, 'spec.claimRef.name')
  return name && `${readText(volume, 'spec.claimRef.namespace')}/${name}`
}

function hosts(ingress: KubeObject): string {
  const all = readList<{ host?: string }>(ingress, 'spec.rules').flatMap(({ host }) => (host ? [host] : []))
  return shortened(all) || '*'
}

function targets(autoscaler: KubeObject): string {
  const current = readList(autoscaler, 'status.currentMetrics')
  const metrics = readList<Record<string, unknown>>(autoscaler, 'spec.metrics').map((metric, index) => {
    const name = readText(metric, 'resource.name', readText(metric, 'type').toLowerCase())
    const wanted = readNumber(metric, 'resource.target.averageUtilization')
    const used = read(current[index], 'resource.current.averageUtilization')
    const shownUse = typeof used === 'number' ? `${used}%` : '<unknown>'
    return `${name}: ${shownUse}/${wanted ? `${wanted}%` : readText(metric, 'resource.target.averageValue', '<auto>')}`
  })
  return joined(metrics)
}

function jobStatus(job: KubeObject): string {
  if (conditionStatus(job, 'Complete') === 'True') return 'Complete'
  if (conditionStatus(job, 'Failed') === 'True') return 'Failed'
  if (job.metadata.deletionTimestamp) return 'Terminating'
  if (conditionStatus(job, 'Suspended') === 'True') return 'Suspended'
  if (conditionStatus(job, 'FailureTarget') === 'True') return 'FailureTarget'
  if (conditionStatus(job, 'SuccessCriteriaMet') === 'True') return 'SuccessCriteriaMet'
  return 'Running'
}

function completions(job: KubeObject): string {
  const succeeded = readNumber(job, 'status.succeeded')
  const wanted = read(job, 'spec.completions')
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`
  const parallelism = readNumber(job, 'spec.parallelism')
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function jobDuration(job: KubeObject, now: number): string {
  const startedAt = parseTime(readText(job, 'status.startTime'))
  if (startedAt === undefined) return ''
  return formatAge((parseTime(readText(job, 'status.completionTime')) ?? now) - startedAt)
}
