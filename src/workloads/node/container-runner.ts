import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
import { formatTime } from '../../kube/time.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import type { EventNote } from '../../runtime/observability/event-recorder.ts'
import type { Container, ContainerState, ContainerStatus, Handler, PodSpec, Probe } from '../types.ts'
import { expand } from './container-environment.ts'
import { ContainerLog } from './container-log.ts'
import { ContainerProcess, type Exit } from './container-process.ts'
import { call, type HandlerTarget } from './handler.ts'
import { Prober } from './prober.ts'

export interface ContainerOptions {
  readonly container: Container
  readonly restartPolicy: NonNullable<PodSpec['restartPolicy']>
  /** How long it may take to end when a probe condemned it. */
  readonly graceMs: number
  /** Known only once it is about to start; throws when something it needs is missing. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>
  /** A path of its own, to which it adds what its files are. */
  readonly path: string
  readonly clock: Clock
  readonly portOf: HandlerTarget['portOf']
  /** Anything in `status` has changed. */
  readonly onChange: () => void
  /** An Event about the Pod. */
  readonly say: (note: EventNote) => void
  /** Restarts of former runs, when the server itself was restarted. */
  readonly restarts: number
}

/** Runs one container: a process if it has a command, a pretence if it has none; again and again as the restart policy says. */
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
  /** Times it was waited for in a row, without a long run between. */
  #waits = 0
  #startedAt = 0
  #isStopping = false
  /** The process has been asked to end. */
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

  async start(): Promise<void> {
    const { container, environment, clock, path, portOf } = this.#options
    if (this.#isStopping) return
    let env: Readonly<Record<string, string>>
    try {
      env = await environment()
    } catch (error) {
      const { message } = error as Error
      this.#options.say({ type: 'Warning', reason: 'Failed', message: `Error: ${message}` })
      return this.#retryLater({ waiting: { reason: 'CreateContainerConfigError', message } })
    }
    if (this.#isStopping) return
    this.#log.turn()
    this.#startedAt = clock.now()
    this.#state = { running: { startedAt: formatTime(this.#startedAt) } }
    if (this.isSimulated) return this.#pretend()
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
    if (container.lifecycle?.postStart && !(await this.#greet(container.lifecycle.postStart, process))) return
    if (process.isRunning && !this.#isEnding) this.#probe()
  }

  /** Asks it to end; kills it when the grace is over, which a later call can shorten. Resolves when it is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#cancelRestart()
    this.#stopProbing()
    this.#isReady = false
    const process = this.#process
    if (!process?.isRunning) {
      if (this.#state.running && this.isSimulated) this.#state = this.#terminated({ exitCode: 0 })
      await process?.exited
      return
    }
    await this.#end(process, graceMs)
  }

  /** `preStop`, SIGTERM, and SIGKILL in the end. */
  async #end(process: ContainerProcess, graceMs: number): Promise<void> {
    const { clock, container } = this.#options
    this.#killWithin(process, graceMs)
    if (!this.#isEnding) {
      this.#isEnding = true
      const { preStop } = container.lifecycle ?? {}
      if (preStop && graceMs > 0) {
        await Promise.race([this.#hook(preStop, graceMs, 'PreStop'), process.exited, sleep(clock, graceMs)])
        // However long that took, it gets two seconds for its own farewell.
        if (process.isRunning && this.#killAt < clock.now() + 2000) this.#killWithin(process, 2000, true)
      }
      process.signal('SIGTERM')
    }
    await process.exited
  }

  #killWithin(process: ContainerProcess, graceMs: number, mayBeLater = false): void {
    const { clock } = this.#options
    const at = clock.now() + graceMs
    if (at >= this.#killAt && !mayBeLater) return
    this.#killAt = at
    this.#cancelKill()
    if (graceMs <= 0) process.signal('SIGKILL')
    else this.#cancelKill = clock.after(graceMs, () => process.signal('SIGKILL'))
  }

  /** Runs `postStart`; false when that failed, and the process with it. */
  async #greet(postStart: Handler, process: ContainerProcess): Promise<boolean> {
    const problem = await Promise.race([this.#hook(postStart, longestGreetingMs, 'PostStart'), process.exited])
    if (problem === undefined) return true
    if (typeof problem === 'string') await this.#condemn(this.#options.graceMs)
    return false
  }

  async #hook(handler: Handler, timeoutMs: number, name: 'PostStart' | 'PreStop'): Promise<string | undefined> {
    const { clock, say } = this.#options
    if (handler.sleep) {
      await sleep(clock, handler.sleep.seconds * 1000)
      return undefined
    }
    const problem = this.#target && (await call(handler, this.#target, timeoutMs))
    if (problem !== undefined)
      say({
        type: 'Warning',
        reason: `Failed${name}Hook`,
        message: `${name}Hook of container ${this.name}: ${problem}`,
      })
    return problem
  }

  /** Ends a process that a probe or a hook found wanting; the restart policy says what comes then. */
  async #condemn(graceMs: number): Promise<void> {
    const process = this.#process
    if (!process?.isRunning || this.#isEnding) return
    this.#stopProbing()
    await this.#end(process, graceMs)
  }

  #pretend(): void {
    const { restartPolicy, clock, onChange, say } = this.#options
    const message = `container ${this.name} has no command: nothing runs, it only looks as if`
    this.#log.write('stdout', Buffer.from(`sojourn: ${message}\n`))
    say({ type: 'Normal', reason: 'Simulated', message })
    this.#isStarted = true
    this.#isReady = true
    // Something that is meant to end does so soon.
    if (restartPolicy !== 'Always') this.#cancelRestart = clock.after(1000, () => this.#ended({ exitCode: 0 }))
    onChange()
  }

  #probe(): void {
    const { startupProbe } = this.#options.container
    if (!startupProbe) return this.#begin()
    this.#watch(startupProbe, undefined, (isFine, problem) => {
      if (!isFine) return this.#fail('Startup', startupProbe, problem)
      this.#stopProbing()
      this.#begin()
    })
  }

  /** It is up: from now on it is asked whether it serves and whether it lives. */
  #begin(): void {
    const { readinessProbe, livenessProbe } = this.#options.container
    this.#isStarted = true
    if (readinessProbe)
      this.#watch(readinessProbe, false, (isFine, problem) => {
        if (!isFine) this.#report('Readiness', problem)
        this.#setReady(isFine)
      })
    else this.#setReady(true)
    if (livenessProbe)
      this.#watch(livenessProbe, true, (_isFine, problem) => this.#fail('Liveness', livenessProbe, problem))
    this.#options.onChange()
  }

  #watch(
    probe: Probe,
    initially: boolean | undefined,
    onChange: (isFine: boolean, problem: string | undefined) => void,
  ): void {
    const { clock } = this.#options
    if (!this.#target) return
    const isKnown = initially === undefined ? {} : { initially }
    this.#probers.push(new Prober(probe, { target: this.#target, clock, ...isKnown, onChange }))
  }

  #fail(which: 'Startup' | 'Liveness', probe: Probe, problem: string | undefined): void {
    this.#report(which, problem)
    this.#options.say({
      type: 'Normal',
      reason: 'Killing',
      message: `Container ${this.name} failed ${which.toLowerCase()} probe, will be restarted`,
    })
    const seconds = probe.terminationGracePeriodSeconds
    void this.#condemn(seconds === undefined ? this.#options.graceMs : seconds * 1000)
  }

  #report(which: string, problem = ''): void {
    this.#options.say({ type: 'Warning', reason: 'Unhealthy', message: `${which} probe failed: ${problem}` })
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
    const { restartPolicy, say } = this.#options
    const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exit.exitCode !== 0)
    if (!again || this.#isStopping) return this.#options.onChange()
    this.#lastState = this.#state
    const message = `back-off restarting container ${this.name}`
    say({ type: 'Warning', reason: 'BackOff', message })
    this.#retryLater({ waiting: { reason: 'CrashLoopBackOff', message } })
  }

  #terminated({ exitCode, signal, error }: Exit): ContainerState {
    const { clock } = this.#options
    const reason = error ? 'StartError' : exitCode === 0 ? 'Completed' : 'Error'
    return {
      terminated: {
        exitCode,
        reason,
        ...(signal === undefined ? {} : { signal }),
        ...(error ? { message: error } : {}),
        startedAt: formatTime(this.#startedAt),
        finishedAt: formatTime(clock.now()),
      },
    }
  }

  /** A second at first, twice as long each time up to five minutes; from the start again once it has run for ten. */
  #retryLater(state: ContainerState): void {
    const { clock, onChange } = this.#options
    const hasRun = this.#state.terminated !== undefined
    if (hasRun && clock.now() - this.#startedAt > 600_000) this.#waits = 0
    this.#state = state
    this.#cancelRestart = clock.after(backoffDelay(++this.#waits, { baseMs: 1000, maxMs: 300_000 }), () => {
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

const longestGreetingMs = 600_000
