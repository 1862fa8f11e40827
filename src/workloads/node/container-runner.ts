import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { formatTime } from '../../kube/time.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import type { EventNote } from '../../runtime/observability/event-recorder.ts'
import type { Container, ContainerState, ContainerStatus, Handler, PodSpec, Probe } from '../types.ts'
import { expand } from './container-environment.ts'
import { ContainerLog } from './container-log.ts'
import { ContainerProcess, type Exit } from './container-process.ts'
import { runHandler, type HandlerTarget } from './handler.ts'
import { Prober } from './prober.ts'

export interface ContainerOptions {
  readonly container: Container
  readonly restartPolicy: NonNullable<PodSpec['restartPolicy']>
  /** The grace period after a failed probe or hook. */
  readonly graceMs: number
  /** Evaluated at each start; throws when a referenced object or key is missing. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>
  /** The prefix of this container's log and pid files. */
  readonly path: string
  readonly clock: Clock
  readonly portOf: HandlerTarget['portOf']
  /** Called when `status` has changed. */
  readonly onChange: () => void
  /** Records an Event about the Pod. */
  readonly recordEvent: (note: EventNote) => void
  /** The restart count from before a restart of the server. */
  readonly restarts: number
}

/** Runs one container as a local process, or simulates it when it has no command, and restarts it as the restart policy says. */
export class ContainerRunner {
  readonly #options: ContainerOptions
  readonly #log: ContainerLog
  #process: ContainerProcess | undefined
  #target: HandlerTarget | undefined
  #probers: Prober[] = []
  #state: ContainerState = { waiting: { reason: 'ContainerCreating' } }
  #lastState: ContainerState | undefined
  #isReady = false
  #isStarted = false
  #restarts: number
  /** Consecutive restarts without a long run in between. */
  #backoffs = 0
  #startedAt = 0
  #isStopping = false
  /** Whether the current process has been told to stop; unlike `#isStopping`, a restart may follow. */
  #isEnding = false
  #killAt = Number.POSITIVE_INFINITY
  #cancelKill: () => void = () => {}
  #cancelRestart: () => void = () => {}

  constructor(options: ContainerOptions) {
    this.#options = options
    this.#restarts = options.restarts
    this.#log = new ContainerLog(`${options.path}.log`, options.clock)
  }

  get name(): string {
    return this.#options.container.name
  }

  get isSimulated(): boolean {
    return (this.#options.container.command ?? []).length === 0
  }

  get exitCode(): number | undefined {
    return this.#state.terminated?.exitCode
  }

  get status(): ContainerStatus {
    const { name, image = '' } = this.#options.container
    return {
      name,
      image,
      imageID: image,
      ...(this.#process?.pid === undefined ? {} : { containerID: `process://${this.#process.pid}` }),
      ready: this.#isReady,
      started: this.#isStarted,
      restartCount: this.#restarts,
      state: this.#state,
      ...(this.#lastState ? { lastState: this.#lastState } : {}),
    }
  }

  /** Never rejects: what keeps the container from running is in its status and in an Event, and it is tried again. */
  async start(): Promise<void> {
    if (this.#isStopping) return
    let reason = 'CreateContainerConfigError'
    try {
      const env = await this.#options.environment()
      reason = 'RunContainerError'
      if (!this.#isStopping) await this.#run(env)
    } catch (error) {
      const { message } = error as Error
      this.#options.recordEvent({ type: 'Warning', reason: 'Failed', message: `Error: ${message}` })
      this.#retryLater({ waiting: { reason, message } })
    }
  }

  async #run(env: Readonly<Record<string, string>>): Promise<void> {
    const { container, clock, path, portOf } = this.#options
    this.#log.rotate()
    this.#startedAt = clock.now()
    this.#state = { running: { startedAt: formatTime(this.#startedAt) } }
    if (this.isSimulated) return this.#simulate()
    this.#warnOfMounts()
    const { workingDir } = container
    const command = [...(container.command ?? []), ...(container.args ?? [])].map((word) => expand(word, env))
    const process = new ContainerProcess({
      command,
      env,
      log: this.#log,
      clock,
      mark: path,
      ...(workingDir ? { workingDir } : {}),
    })
    this.#process = process
    this.#isEnding = false
    this.#target = { host: '127.0.0.1', portOf, env, ...(workingDir ? { workingDir } : {}) }
    void process.exited.then((exit) => this.#ended(exit))
    this.#options.onChange()
    if (container.lifecycle?.postStart && !(await this.#runPostStart(container.lifecycle.postStart, process))) return
    if (process.isRunning && !this.#isEnding) this.#probe()
  }

  /** Stops the container for good; resolves when its process has ended. A later call can shorten the grace period. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#cancelRestart()
    this.#stopProbing()
    this.#isReady = false
    const process = this.#process
    if (!process?.isRunning) {
      if (this.#state.running && this.isSimulated) {
        // A program takes a moment to end, in which clients see that its Pod is terminating.
        await sleep(this.#options.clock, Math.min(graceMs, simulatedEndMs))
        this.#state = this.#terminated({ exitCode: 0 })
      }
      await process?.exited
      return
    }
    await this.#end(process, graceMs)
  }

  /** Runs `preStop`, sends SIGTERM, and SIGKILL after the grace period. */
  async #end(process: ContainerProcess, graceMs: number): Promise<void> {
    const { clock, container } = this.#options
    this.#killWithin(process, graceMs)
    if (!this.#isEnding) {
      this.#isEnding = true
      const { preStop } = container.lifecycle ?? {}
      if (preStop && graceMs > 0) {
        await Promise.race([this.#runHook(preStop, graceMs, 'PreStop'), process.exited, sleep(clock, graceMs)])
        // However long preStop took, the process gets two seconds after SIGTERM, as with a kubelet.
        if (process.isRunning && this.#killAt < clock.now() + 2000) this.#killWithin(process, 2000, 'extend')
      }
      process.signal('SIGTERM')
    }
    await process.exited
  }

  #killWithin(process: ContainerProcess, graceMs: number, mode: 'shorten' | 'extend' = 'shorten'): void {
    const { clock } = this.#options
    const at = clock.now() + graceMs
    if (at >= this.#killAt && mode === 'shorten') return
    this.#killAt = at
    this.#cancelKill()
    if (graceMs <= 0) process.signal('SIGKILL')
    else this.#cancelKill = clock.after(graceMs, () => process.signal('SIGKILL'))
  }

  /** Runs `postStart`; false when it failed, which also stops the process, or when the process has ended meanwhile. */
  async #runPostStart(postStart: Handler, process: ContainerProcess): Promise<boolean> {
    const problem = await Promise.race([this.#runHook(postStart, maxPostStartMs, 'PostStart'), process.exited])
    if (problem === undefined) return true
    if (typeof problem === 'string') await this.#restart(this.#options.graceMs)
    return false
  }

  async #runHook(handler: Handler, timeoutMs: number, name: 'PostStart' | 'PreStop'): Promise<string | undefined> {
    const { clock, recordEvent } = this.#options
    if (handler.sleep) {
      await sleep(clock, handler.sleep.seconds * 1000)
      return undefined
    }
    const problem = this.#target && (await runHandler(handler, this.#target, timeoutMs))
    if (problem !== undefined)
      recordEvent({
        type: 'Warning',
        reason: `Failed${name}Hook`,
        message: `${name}Hook of container ${this.name}: ${problem}`,
      })
    return problem
  }

  /** Stops the process after a failed probe or hook; the restart policy decides what follows. */
  async #restart(graceMs: number): Promise<void> {
    const process = this.#process
    if (!process?.isRunning || this.#isEnding) return
    this.#stopProbing()
    await this.#end(process, graceMs)
  }

  #warnOfMounts(): void {
    const { container, recordEvent } = this.#options
    const paths = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath).filter((path) => path !== tokenPath)
    if (paths.length === 0) return
    const message = `volumes are not mounted: container ${this.name} finds at ${paths.join(', ')} what this machine has there`
    recordEvent({ type: 'Warning', reason: 'NotMounted', message })
  }

  #simulate(): void {
    const { restartPolicy, clock, onChange, recordEvent } = this.#options
    const message = `container ${this.name} has no command: it is simulated: no process runs, and it answers no requests`
    this.#log.write('stdout', Buffer.from(`sojourn: ${message}\n`))
    recordEvent({ type: 'Normal', reason: 'Simulated', message })
    this.#isStarted = true
    this.#isReady = !alwaysFails(this.#options.container.readinessProbe)
    if (!this.#isReady) this.#recordUnhealthy('Readiness', 'the command always fails')
    // A container that is expected to end is seen running by clients that look every two seconds.
    if (restartPolicy !== 'Always')
      this.#cancelRestart = clock.after(simulatedRunMs, () => this.#ended({ exitCode: 0 }))
    onChange()
  }

  #probe(): void {
    const { startupProbe } = this.#options.container
    if (!startupProbe) return this.#started()
    this.#addProber(startupProbe, undefined, (isHealthy, problem) => {
      if (!isHealthy) return this.#fail('Startup', startupProbe, problem)
      this.#stopProbing()
      this.#started()
    })
  }

  /** The container has started: from now on readiness and liveness are probed. */
  #started(): void {
    const { readinessProbe, livenessProbe } = this.#options.container
    this.#isStarted = true
    if (readinessProbe)
      this.#addProber(readinessProbe, false, (isHealthy, problem) => {
        if (!isHealthy) this.#recordUnhealthy('Readiness', problem)
        this.#setReady(isHealthy)
      })
    else this.#setReady(true)
    if (livenessProbe)
      this.#addProber(livenessProbe, true, (_isHealthy, problem) => this.#fail('Liveness', livenessProbe, problem))
    this.#options.onChange()
  }

  #addProber(
    probe: Probe,
    initially: boolean | undefined,
    onChange: (isHealthy: boolean, problem: string | undefined) => void,
  ): void {
    const { clock } = this.#options
    if (!this.#target) return
    const assumed = initially === undefined ? {} : { initially }
    this.#probers.push(new Prober(probe, { target: this.#target, clock, ...assumed, onChange }))
  }

  #fail(which: 'Startup' | 'Liveness', probe: Probe, problem: string | undefined): void {
    this.#recordUnhealthy(which, problem)
    this.#options.recordEvent({
      type: 'Normal',
      reason: 'Killing',
      message: `Container ${this.name} failed ${which.toLowerCase()} probe, will be restarted`,
    })
    const seconds = probe.terminationGracePeriodSeconds
    void this.#restart(seconds === undefined ? this.#options.graceMs : seconds * 1000)
  }

  #recordUnhealthy(which: string, problem = ''): void {
    this.#options.recordEvent({ type: 'Warning', reason: 'Unhealthy', message: `${which} probe failed: ${problem}` })
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return
    this.#isReady = isReady
    this.#options.onChange()
  }

  #ended(exit: Exit): void {
    this.#stopProbing()
    this.#cancelKill()
    this.#killAt = Number.POSITIVE_INFINITY
    this.#isReady = false
    this.#isStarted = false
    this.#state = this.#terminated(exit)
    const { restartPolicy, recordEvent } = this.#options
    const isRestarted = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exit.exitCode !== 0)
    if (!isRestarted || this.#isStopping) return this.#options.onChange()
    this.#lastState = this.#state
    const message = `back-off restarting container ${this.name}`
    recordEvent({ type: 'Warning', reason: 'BackOff', message })
    this.#retryLater({ waiting: { reason: 'CrashLoopBackOff', message } })
  }

  #terminated({ exitCode, signal, error }: Exit): ContainerState {
    const { clock, container } = this.#options
    const reason = error ? 'StartError' : exitCode === 0 ? 'Completed' : 'Error'
    const takesLog = container.terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0
    const message = error ?? (takesLog ? this.#log.tail() : '')
    return {
      terminated: {
        exitCode,
        reason,
        ...(signal === undefined ? {} : { signal }),
        ...(message ? { message } : {}),
        startedAt: formatTime(this.#startedAt),
        finishedAt: formatTime(clock.now()),
      },
    }
  }

  /** Restarts after one second, doubled each time up to five minutes; a run of ten minutes resets the backoff. */
  #retryLater(state: ContainerState): void {
    const { clock, onChange } = this.#options
    const hasRun = this.#state.terminated !== undefined
    if (hasRun && clock.now() - this.#startedAt > 600_000) this.#backoffs = 0
    this.#state = state
    this.#cancelRestart = clock.after(backoffDelay(++this.#backoffs, { baseMs: 1000, maxMs: 300_000 }), () => {
      if (hasRun) this.#restarts++
      void this.start()
    })
    onChange()
  }

  #stopProbing(): void {
    for (const prober of this.#probers) prober.stop()
    this.#probers = []
  }
}

/** Whether a probe fails whatever the image is. Other probes of a simulated container are assumed to succeed. */
function alwaysFails(probe: Probe | undefined): boolean {
  return /^(\/usr)?(\/bin\/)?false$/.test(probe?.exec?.command?.[0] ?? '')
}

const maxPostStartMs = 600_000
const simulatedEndMs = 200
const simulatedRunMs = 3000
/** Every Pod mounts it; processes find the token by KUBECONFIG instead. */
const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount'
