import type { KubeObject } from '../../kube/object.ts'
import { formatAge, parseTime } from '../../kube/time.ts'
import { conditionStatus, read, readList, readNumber, readText } from './read.ts'

interface ContainerState {
  readonly waiting?: { readonly reason?: string }
  readonly running?: { readonly startedAt?: string }
  readonly terminated?: {
    readonly reason?: string
    readonly exitCode?: number
    readonly signal?: number
    readonly finishedAt?: string
  }
}

interface ContainerStatus {
  readonly name?: string
  readonly ready?: boolean
  readonly started?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

/** The READY column of a pod. */
export function podReady(pod: KubeObject): string {
  return `${containers(pod).filter(isReady).length}/${readList(pod, 'spec.containers').length}`
}

/** The STATUS column of a pod: the state of its containers, else its phase. */
export function podStatus(pod: KubeObject): string {
  const isGated = readList(pod, 'status.conditions').some(({ reason }) => reason === 'SchedulingGated')
  const phase = isGated ? 'SchedulingGated' : readText(pod, 'status.reason') || readText(pod, 'status.phase', 'Pending')
  const settled = initStatus(pod) ?? containerStatus(pod, phase)
  if (!pod.metadata.deletionTimestamp) return settled
  if (readText(pod, 'status.reason') === 'NodeLost') return 'Unknown'
  const isFinished = ['Succeeded', 'Failed'].includes(readText(pod, 'status.phase'))
  return isFinished ? settled : 'Terminating'
}

function initStatus(pod: KubeObject): string | undefined {
  const all = readList<ContainerStatus>(pod, 'status.initContainerStatuses')
  const declared = readList<{ name?: string; restartPolicy?: string }>(pod, 'spec.initContainers')
  for (const [index, { name, state = {}, started }] of all.entries()) {
    if (state.terminated?.exitCode === 0) continue
    const isSidecar = declared.find((container) => container.name === name)?.restartPolicy === 'Always'
    if (isSidecar && started) continue
    if (state.terminated) return `Init:${terminatedReason(state.terminated)}`
    const waiting = state.waiting?.reason
    if (waiting && waiting !== 'PodInitializing') return `Init:${waiting}`
    return `Init:${index}/${declared.length}`
  }
  return undefined
}

function containerStatus(pod: KubeObject, phase: string): string {
  let reason = phase
  let isAnyRunning = false
  for (const { state = {}, ready } of containers(pod).toReversed()) {
    if (state.waiting?.reason) reason = state.waiting.reason
    else if (state.terminated) reason = terminatedReason(state.terminated)
    else if (ready && state.running) isAnyRunning = true
  }
  if (reason !== 'Completed' || !isAnyRunning) return reason
  return conditionStatus(pod, 'Ready') === 'True' ? 'Running' : 'NotReady'
}

function terminatedReason({ reason, signal, exitCode }: NonNullable<ContainerState['terminated']>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`)
}

/** The RESTARTS column of a pod. */
export function podRestarts(pod: KubeObject, now: number): string {
  const all = containers(pod)
  const total = all.reduce((sum, status) => sum + readNumber(status, 'restartCount'), 0)
  const lastAt = all
    .map(({ lastState }) => parseTime(lastState?.terminated?.finishedAt))
    .reduce<number>((latest, at) => Math.max(latest, at ?? 0), 0)
  return total > 0 && lastAt > 0 ? `${total} (${formatAge(now - lastAt)} ago)` : String(total)
}

/** The READINESS GATES column of a pod. */
export function readinessGates(pod: KubeObject): string {
  const gates = readList<{ conditionType: string }>(pod, 'spec.readinessGates')
  if (gates.length === 0) return '<none>'
  const passed = gates.filter(({ conditionType }) => conditionStatus(pod, conditionType) === 'True')
  return `${passed.length}/${gates.length}`
}

function containers(pod: KubeObject): readonly ContainerStatus[] {
  return readList<ContainerStatus>(pod, 'status.containerStatuses')
}

function isReady(status: ContainerStatus): boolean {
  return status.ready === true && read(status, 'state.running') !== undefined
}
