import { join } from 'node:path'
import type { Client } from '../../client/client.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { confirmGone } from '../remove.ts'
import { pods, type Container, type ContainerStatus, type Pod, type PodCondition } from '../types.ts'
import { containerEnvironment } from './container-environment.ts'
import { ContainerRunner } from './container-runner.ts'
import { freePort } from './free-port.ts'
import { portsAnnotation, simulatedAnnotation, type PortMap } from './ports-annotation.ts'

export interface PodRunnerPorts {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  /** Where logs and pids are kept. */
  readonly directory: string
  readonly nodeName: string
  /** What every process inherits: PATH, HOME and the like. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** Runs one Pod from its binding to its end, and keeps its status true. */
export class PodRunner {
  readonly #pod: Pod
  readonly #ports: PodRunnerPorts
  #containers: readonly ContainerRunner[] = []
  #init: ContainerRunner | undefined
  #portMap: PortMap = {}
  #isStopping = false
  /** One write at a time; `again` when something changed meanwhile. */
  #writing = false
  #again = false
  readonly #startedAt: string

  constructor(pod: Pod, ports: PodRunnerPorts) {
    this.#pod = pod
    this.#ports = ports
    this.#startedAt = formatTime(ports.clock.now())
  }

  async start(): Promise<void> {
    const { spec, metadata } = this.#pod
    this.#portMap = await this.#allocatePorts()
    const isSimulated = spec.containers.some(({ command = [] }) => command.length === 0)
    const annotations = {
      [portsAnnotation]: JSON.stringify(this.#portMap),
      ...(isSimulated ? { [simulatedAnnotation]: 'true' } : {}),
    }
    await this.#ports.client.patch(pods, placeOf(this.#pod), {
      type: 'merge',
      body: { metadata: { uid: metadata.uid, annotations } },
    })
    this.#containers = spec.containers.map((container) =>
      this.#runner(container, spec.restartPolicy ?? 'Always', false),
    )
    for (const container of spec.initContainers ?? []) {
      if (!(await this.#initialise(container))) return
    }
    if (this.#isStopping) return
    await Promise.all(this.#containers.map((container) => container.start()))
    this.#changed()
  }

  /** Ends the Pod's processes and takes it off the list. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { deletionGracePeriodSeconds } = this.#pod.metadata
    await this.halt((deletionGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1000)
  }

  /** Ends the processes, whatever becomes of the Pod. */
  async halt(graceMs: number): Promise<void> {
    this.#isStopping = true
    const running = [...(this.#init ? [this.#init] : []), ...this.#containers]
    await Promise.all(running.map((container) => container.stop(graceMs)))
  }

  /** Tells the API that nothing of a terminating Pod is left. */
  async confirm(pod: Pod): Promise<void> {
    await confirmGone(this.#ports.client, pods, pod)
  }

  isRunning(container: string): boolean {
    return this.#containers.some((runner) => runner.name === container && runner.status.state.running !== undefined)
  }

  /** Runs one init container to its end; false when it failed for good or the Pod is ending. */
  async #initialise(container: Container): Promise<boolean> {
    const policy = this.#pod.spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure'
    return new Promise((resolve) => {
      const runner = this.#runner(container, policy, true, () => {
        const code = runner.exitCode
        if (this.#isStopping) resolve(false)
        else if (code === 0) resolve(true)
        else if (code !== undefined && policy === 'Never') resolve(false)
      })
      this.#init = runner
      void runner.start()
    })
  }

  #runner(
    container: Container,
    restartPolicy: 'Always' | 'OnFailure' | 'Never',
    isInit: boolean,
    onChange = () => {},
  ): ContainerRunner {
    const { client, clock, directory, nodeName, inherited } = this.#ports
    const base = join(directory, this.#pod.metadata.uid, container.name)
    const former = (isInit ? [] : (this.#pod.status?.containerStatuses ?? [])).find(
      ({ name }) => name === container.name,
    )
    return new ContainerRunner({
      container,
      restartPolicy,
      environment: () =>
        containerEnvironment({
          client,
          pod: this.#pod,
          container,
          ports: this.#portMap,
          podIP: loopback,
          nodeName,
          inherited,
        }),
      logPath: `${base}.log`,
      pidFile: `${base}.pid`,
      clock,
      portOf: (port) => this.#realPort(container, port),
      restarts: former ? former.restartCount + 1 : 0,
      onChange: () => {
        onChange()
        this.#changed()
      },
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
    for (const { command = [], ports = [] } of this.#pod.spec.containers) {
      if (command.length === 0) continue
      for (const { containerPort } of ports) map[containerPort] ??= await freePort()
    }
    return map
  }

  #changed(): void {
    if (this.#writing) this.#again = true
    else void this.#publish()
  }

  async #publish(): Promise<void> {
    const { client, log } = this.#ports
    this.#writing = true
    do {
      this.#again = false
      // Gone, or refused for good: the next change, or the end, comes anyway.
      await client
        .patch(
          pods,
          placeOf(this.#pod),
          { type: 'merge', body: { metadata: { uid: this.#pod.metadata.uid }, status: this.#status() } },
          { subresource: 'status' },
        )
        .catch(ignoring('NotFound', 'Conflict'))
        .catch((error: unknown) =>
          log.error('pod status not written', { pod: this.#pod.metadata.name, error: String(error) }),
        )
    } while (this.#again)
    this.#writing = false
  }

  #status(): Record<string, unknown> {
    const statuses = this.#containers.map(({ status }) => status)
    const phase = phaseOf(statuses, this.#init, this.#pod.spec.restartPolicy ?? 'Always')
    const isReady = !this.#isStopping && statuses.length > 0 && statuses.every(({ ready }) => ready)
    return {
      phase,
      hostIP: loopback,
      hostIPs: [{ ip: loopback }],
      podIP: loopback,
      podIPs: [{ ip: loopback }],
      startTime: this.#startedAt,
      qosClass: 'BestEffort',
      conditions: this.#conditions(isReady, phase),
      containerStatuses: statuses,
    }
  }

  #conditionsSeen = new Map<string, PodCondition>()

  #conditions(isReady: boolean, phase: string): readonly PodCondition[] {
    const now = formatTime(this.#ports.clock.now())
    const isOver = phase === 'Succeeded'
    const set = (type: string, isTrue: boolean): PodCondition => {
      const status = isTrue ? 'True' : 'False'
      const before = this.#conditionsSeen.get(type)
      const condition: PodCondition = {
        type,
        status,
        lastTransitionTime: before?.status === status ? before.lastTransitionTime : now,
        ...(isTrue ? {} : { reason: isOver ? 'PodCompleted' : 'ContainersNotReady' }),
      }
      this.#conditionsSeen.set(type, condition)
      return condition
    }
    const isInitialised = this.#init === undefined || this.#init.exitCode === 0
    return [
      set('PodReadyToStartContainers', true),
      set('Initialized', isInitialised),
      set('Ready', isReady),
      set('ContainersReady', isReady),
      set('PodScheduled', true),
    ]
  }
}

const loopback = '127.0.0.1'

function placeOf({ metadata }: Pod): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name }
}

function phaseOf(
  statuses: readonly ContainerStatus[],
  init: ContainerRunner | undefined,
  restartPolicy: string,
): string {
  if (init?.exitCode !== undefined && init.exitCode !== 0 && restartPolicy === 'Never') return 'Failed'
  const isEnded = statuses.length > 0 && statuses.every(({ state }) => state.terminated)
  if (isEnded && restartPolicy !== 'Always')
    return statuses.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed'
  const hasRun = statuses.some(
    ({ state, lastState, restartCount }) => state.running ?? state.terminated ?? lastState ?? restartCount > 0,
  )
  return hasRun ? 'Running' : 'Pending'
}
