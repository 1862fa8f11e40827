import type { ProcessParts } from '../../runtime/process-parts.ts'
import { placeOf } from '../../kube/object.ts'
import { pods } from '../../kube/core-types.ts'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { deleteTerminatedPod } from '../delete.ts'
import { hasSimulated, type Container, type ContainerStatus, type Pod, type PodCondition } from '../types.ts'
import { apiAccess } from './api-access.ts'
import { containerEnvironment } from './container-environment.ts'
import { ContainerRunner } from './container-runner.ts'
import { portsAnnotation, simulatedMark, type PortMap } from '../ports-annotation.ts'

export interface PodRunnerPorts extends Pick<ProcessParts, 'client' | 'clock' | 'log' | 'events'> {
  /** Holds logs and pid files. */
  readonly directory: string
  readonly nodeName: string
  /** Environment variables every process inherits, such as PATH and HOME. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** Runs the containers of one Pod bound to this node, and keeps the Pod's status current. */
export class PodRunner {
  readonly #pod: Pod
  readonly #ports: PodRunnerPorts
  #containers: readonly ContainerRunner[] = []
  /** Init containers in their order, sidecars included. */
  #init: readonly InitRunner[] = []
  #portMap: PortMap = {}
  #isStopping = false
  #isOverdue = false
  /** Only one status write is in flight; `hasChanged` asks for another one after it. */
  #isWriting = false
  #hasChanged = false
  /** Of the Pod as it was last seen; the status says that it is about this one. */
  #generation: number | undefined
  /** Readiness gates that others have not opened: without them the Pod is not ready. */
  #closedGates: readonly string[]
  readonly #startedAt: string

  constructor(pod: Pod, ports: PodRunnerPorts) {
    this.#pod = pod
    this.#ports = ports
    this.#startedAt = pod.status?.startTime ?? formatTime(ports.clock.now())
    this.#generation = pod.metadata.generation
    this.#closedGates = closedGatesOf(pod)
  }

  /** Chooses the ports and marks the Pod. */
  async prepare(): Promise<void> {
    const { metadata } = this.#pod
    this.#portMap = await this.#allocatePorts()
    const isSimulated = hasSimulated(this.#pod)
    const annotations = {
      [portsAnnotation]: JSON.stringify(this.#portMap),
      ...(isSimulated ? { [simulatedMark]: 'true' } : {}),
    }
    await this.#ports.client.merge(pods, placeOf(metadata), { metadata: { uid: metadata.uid, annotations } })
  }

  async start(): Promise<void> {
    const { spec } = this.#pod
    if (this.#isStopping) return
    const policy = spec.restartPolicy ?? 'Always'
    const former = this.#pod.status ?? {}
    this.#containers = spec.containers.map((container) =>
      this.#runner(container, policy, former.containerStatuses, () => this.#containerChanged()),
    )
    this.#init = (spec.initContainers ?? []).map((container) => this.#initRunner(container))
    for (const each of this.#init) if (!(await this.#runInit(each))) return
    if (this.#isStopping) return
    await Promise.all(this.#containers.map((container) => container.start()))
    this.#changed()
  }

  /** Takes note of a change to the Pod. */
  observe(pod: Pod): void {
    const { generation } = pod.metadata
    const closedGates = closedGatesOf(pod)
    if (this.#generation === generation && this.#closedGates.join() === closedGates.join()) return
    this.#generation = generation
    this.#closedGates = closedGates
    if (this.#containers.length > 0) this.#changed()
  }

  /** Stops all processes, sidecars last. A later call can shorten the grace period. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    const until = this.#ports.clock.now() + graceMs
    const initContainers = this.#init.filter(({ isSidecar }) => !isSidecar).map(({ runner }) => runner)
    await Promise.all([...initContainers, ...this.#containers].map((container) => container.stop(graceMs)))
    await this.#stopSidecars(Math.max(0, until - this.#ports.clock.now()))
  }

  /** Fails the Pod, whose `activeDeadlineSeconds` are over, and stops its processes. */
  exceedDeadline(): void {
    if (this.#isOverdue) return
    this.#isOverdue = true
    this.#changed()
    void this.stop(this.#graceMs).then(() => this.#changed())
  }

  /** Deletes a terminating Pod from the API once its processes have ended. */
  async deletePod(pod: Pod): Promise<void> {
    await deleteTerminatedPod(this.#ports.client, pods, pod)
  }

  isRunning(container: string): boolean {
    return [...this.#init.map(({ runner }) => runner), ...this.#containers].some(
      (runner) => runner.name === container && runner.status.state.running !== undefined,
    )
  }

  /** Runs an init container to completion, or a sidecar until it has started. False when it failed for good or the Pod is stopping. */
  async #runInit({ runner, isSidecar, settled }: InitRunner): Promise<boolean> {
    if (this.#isStopping) return false
    const done = new Promise<boolean>((resolve) => (settled.resolve = resolve))
    settled.check = () => {
      const { exitCode, status } = runner
      if (this.#isStopping) settled.resolve(false)
      else if (isSidecar ? status.started : exitCode === 0) settled.resolve(true)
      else if (!isSidecar && exitCode !== undefined && this.#pod.spec.restartPolicy === 'Never') settled.resolve(false)
    }
    await runner.start()
    settled.check()
    return done
  }

  #containerChanged(): void {
    this.#changed()
    // Sidecars stop once every container has ended and none will be restarted.
    const statuses = this.#containers.map(({ status }) => status)
    if (!this.#isStopping && isOver(statuses, this.#pod.spec.restartPolicy ?? 'Always'))
      void this.#stopSidecars(this.#graceMs)
  }

  async #stopSidecars(graceMs: number): Promise<void> {
    const sidecars = this.#init.filter(({ isSidecar }) => isSidecar)
    for (const { runner } of sidecars.toReversed()) await runner.stop(graceMs)
  }

  get #graceMs(): number {
    return (this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
  }

  #initRunner(container: Container): InitRunner {
    const isSidecar = container.restartPolicy === 'Always'
    const policy = isSidecar ? 'Always' : this.#pod.spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure'
    const settled: InitRunner['settled'] = { resolve: () => {}, check: () => {} }
    const runner = this.#runner(container, policy, isSidecar ? this.#pod.status?.initContainerStatuses : [], () => {
      settled.check()
      this.#changed()
    })
    return { runner, isSidecar, settled }
  }

  #runner(
    container: Container,
    restartPolicy: 'Always' | 'OnFailure' | 'Never',
    former: readonly ContainerStatus[] = [],
    onChange: () => void,
  ): ContainerRunner {
    const { client, clock, directory, nodeName, inherited, events } = this.#ports
    const before = former.find(({ name }) => name === container.name)
    return new ContainerRunner({
      container,
      restartPolicy,
      graceMs: this.#graceMs,
      environment: async () =>
        containerEnvironment({
          client,
          pod: this.#pod,
          container,
          ports: this.#portMap,
          podIP: addressOf(this.#pod),
          nodeName,
          inherited: { ...inherited, ...(await apiAccess(client, this.#pod, directory)) },
        }),
      path: join(directory, this.#pod.metadata.uid, container.name),
      clock,
      portOf: (port) => this.#realPort(container, port),
      restarts: before ? before.restartCount + 1 : 0,
      onChange,
      recordEvent: (note) => events.record(this.#pod, note),
    })
  }

  #realPort(container: Container, port: number | string): number | undefined {
    const number =
      typeof port === 'number'
        ? port
        : (container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port))
    return Number.isInteger(number) ? (this.#portMap[number] ?? number) : undefined
  }

  async #allocatePorts(): Promise<PortMap> {
    const map: Record<number, number> = {}
    const { containers, initContainers = [] } = this.#pod.spec
    for (const { command = [], ports = [] } of [...initContainers, ...containers]) {
      if (command.length === 0) continue
      for (const { containerPort } of ports) map[containerPort] ??= await freePort()
    }
    return map
  }

  #changed(): void {
    if (this.#isWriting) this.#hasChanged = true
    else void this.#publish()
  }

  async #publish(): Promise<void> {
    const { client, log } = this.#ports
    this.#isWriting = true
    do {
      this.#hasChanged = false
      const body = { metadata: { uid: this.#pod.metadata.uid }, status: this.#status() }
      // A Pod that no longer exists needs no status; any other failure is corrected by the next write. A strategic patch keeps the
      // conditions that others set.
      await client
        .patch(pods, placeOf(this.#pod.metadata), { type: 'strategic', body }, { subresource: 'status' })
        .catch(ignoring('NotFound', 'Conflict'))
        .catch((error: unknown) =>
          log.error('pod status not written', { pod: this.#pod.metadata.name, error: String(error) }),
        )
    } while (this.#hasChanged)
    this.#isWriting = false
  }

  #status(): Record<string, unknown> {
    const statuses = this.#containers.map(({ status }) => status)
    // An init container is ready once it has completed.
    const init = this.#init.map(({ runner: { status, exitCode } }) => ({
      ...status,
      ready: status.ready || exitCode === 0,
    }))
    const phase = phaseOf(statuses, this.#init, this.#pod.spec.restartPolicy ?? 'Always')
    const isReady = !this.#isStopping && statuses.length > 0 && statuses.every(({ ready }) => ready)
    const podIP = addressOf(this.#pod)
    return {
      ...(this.#isOverdue ? deadlineExceeded : { phase }),
      observedGeneration: this.#generation,
      hostIP: loopback,
      hostIPs: [{ ip: loopback }],
      podIP,
      podIPs: [{ ip: podIP }],
      startTime: this.#startedAt,
      conditions: this.#conditions(isReady, phase),
      containerStatuses: statuses,
      // A merge patch keeps the field when it is absent.
      ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    }
  }

  #lastConditions = new Map<string, PodCondition>()

  #conditions(isReady: boolean, phase: string): readonly PodCondition[] {
    const now = formatTime(this.#ports.clock.now())
    const isOver = phase === 'Succeeded'
    const set = (type: string, isTrue: boolean, why = isOver ? 'PodCompleted' : 'ContainersNotReady'): PodCondition => {
      const status = isTrue ? 'True' : 'False'
      const before = this.#lastConditions.get(type)
      const condition: PodCondition = {
        type,
        status,
        observedGeneration: this.#generation,
        lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
        // Null removes what an earlier write set.
        reason: isTrue ? null : why,
        message: null,
      }
      this.#lastConditions.set(type, condition)
      return condition
    }
    const isInitialized = this.#init.every(allowsNext)
    return [
      set('PodReadyToStartContainers', true),
      set('Initialized', isInitialized),
      set('Ready', isReady && this.#closedGates.length === 0, isReady ? 'ReadinessGatesNotReady' : undefined),
      set('ContainersReady', isReady),
      set('PodScheduled', true),
    ]
  }
}

/** The readiness gates of a Pod whose condition is not True. */
function closedGatesOf({ spec, status }: Pod): readonly string[] {
  const isOpen = (gate: string) => status?.conditions?.some(({ type, status: is }) => type === gate && is === 'True')
  return (spec.readinessGates ?? []).map(({ conditionType }) => conditionType).filter((gate) => !isOpen(gate))
}

const loopback = '127.0.0.1'

/** A loopback port that is free at this moment. */
async function freePort(): Promise<number> {
  await using server = createServer().listen(0, loopback)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Of Pods without processes: programs of this machine listen at the other one, this server among them. */
const unusedLoopback = '127.0.0.2'

function addressOf({ spec }: Pod): string {
  return spec.containers.every(({ command = [] }) => command.length === 0) ? unusedLoopback : loopback
}

const deadlineExceeded = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
}

interface InitRunner {
  readonly runner: ContainerRunner
  readonly isSidecar: boolean
  /** `check` resolves the wait of `#runInit` when this container allows the Pod to continue, or never will. */
  readonly settled: { resolve: (canContinue: boolean) => void; check: () => void }
}

/** Whether the next container may start. */
function allowsNext({ runner, isSidecar }: InitRunner): boolean {
  return isSidecar ? runner.status.started : runner.exitCode === 0
}

function isOver(statuses: readonly ContainerStatus[], restartPolicy: string): boolean {
  return statuses.length > 0 && statuses.every(({ state }) => state.terminated) && restartPolicy !== 'Always'
}

function phaseOf(statuses: readonly ContainerStatus[], init: readonly InitRunner[], restartPolicy: string): string {
  const hasFailed = init.some(({ runner, isSidecar }) => !isSidecar && (runner.exitCode ?? 0) !== 0)
  if (hasFailed && restartPolicy === 'Never') return 'Failed'
  if (isOver(statuses, restartPolicy))
    return statuses.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed'
  const hasRun = statuses.some(
    ({ state, lastState, restartCount }) => state.running ?? state.terminated ?? lastState ?? restartCount > 0,
  )
  return hasRun ? 'Running' : 'Pending'
}
