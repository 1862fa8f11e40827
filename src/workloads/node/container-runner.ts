import { formatTime } from '../../kube/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Container, ContainerState, ContainerStatus, PodSpec } from '../types.ts'
import { expand } from './container-environment.ts'
import { ContainerLog } from './container-log.ts'
import { ContainerProcess, type Exit } from './container-process.ts'
import { Prober, type ProbeTarget } from './prober.ts'

export interface ContainerOptions {
  readonly container: Container
  readonly restartPolicy: NonNullable<PodSpec['restartPolicy']>
  /** Known only once it is about to start; throws when something it needs is missing. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>
  readonly logPath: string
  readonly pidFile: string
  readonly clock: Clock
  readonly portOf: ProbeTarget['portOf']
  /** Anything in `status` has changed. */
  readonly onChange: () => void
  /** Restarts of former runs, when the server itself was restarted. */
  readonly restarts: number
}

/** Runs one container: a process if it has a command, a pretence if it has none; again and again as the restart policy says. */
export class ContainerRunner {
  readonly #options: ContainerOptions
  readonly #log: ContainerLog
  #process: ContainerProcess | undefined
  #probers: Prober[] = []
  #state: ContainerState = { waiting: { reason: 'ContainerCreating' } }
  #lastState: ContainerState | undefined
  #isReady = false
  #isStarted = false
  #restarts: number
  #startedAt = 0
  #isStopping = false
  #cancelRestart: () => void = () => {}

  constructor(options: ContainerOptions) {
    this.#options = options
    this.#restarts = options.restarts
    this.#log = new ContainerLog(options.logPath, options.clock)
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
    const { container, environment, clock, pidFile } = this.#options
    if (this.#isStopping) return
    let env: Readonly<Record<string, string>>
    try {
      env = await environment()
    } catch (error) {
      return this.#retryLater({ waiting: { reason: 'CreateContainerConfigError', message: (error as Error).message } })
    }
    if (this.#isStopping) return
    this.#startedAt = clock.now()
    this.#state = { running: { startedAt: formatTime(this.#startedAt) } }
    if (this.isSimulated) return this.#pretend()
    const command = [...(container.command ?? []), ...(container.args ?? [])].map((word) => expand(word, env))
    this.#process = new ContainerProcess({
      command,
      env,
      log: this.#log,
      pidFile,
      ...(container.workingDir ? { workingDir: container.workingDir } : {}),
    })
    void this.#process.exited.then((exit) => this.#ended(exit))
    this.#probe(env)
    this.#options.onChange()
  }

  /** Asks it to end; kills it when the grace is over. Resolves when it is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#cancelRestart()
    this.#stopProbing()
    this.#isReady = false
    const process = this.#process
    if (!process?.isRunning) {
      if (this.#state.running) this.#state = this.#terminated({ exitCode: 0 })
      return
    }
    process.signal('SIGTERM')
    const cancel = this.#options.clock.after(graceMs, () => process.signal('SIGKILL'))
    await process.exited
    cancel()
  }

  #pretend(): void {
    const { restartPolicy, clock, onChange } = this.#options
    this.#isStarted = true
    this.#isReady = true
    // Something that is meant to end does so soon.
    if (restartPolicy !== 'Always') this.#cancelRestart = clock.after(1000, () => this.#ended({ exitCode: 0 }))
    onChange()
  }

  #probe(env: Readonly<Record<string, string>>): void {
    const { container, clock, portOf } = this.#options
    const target = { host: '127.0.0.1', portOf, env }
    const { startupProbe, readinessProbe, livenessProbe } = container
    const begin = () => {
      this.#isStarted = true
      if (readinessProbe)
        this.#probers.push(
          new Prober(readinessProbe, { target, clock, initially: false, onChange: (isFine) => this.#setReady(isFine) }),
        )
      else this.#setReady(true)
      if (livenessProbe)
        this.#probers.push(
          new Prober(livenessProbe, {
            target,
            clock,
            initially: true,
            onChange: () => this.#process?.signal('SIGKILL'),
          }),
        )
    }
    if (!startupProbe) return begin()
    this.#probers.push(
      new Prober(startupProbe, {
        target,
        clock,
        initially: false,
        onChange: (isFine) => {
          if (!isFine) return
          this.#stopProbing()
          begin()
        },
      }),
    )
  }

  #setReady(isReady: boolean): void {
    if (this.#isReady === isReady) return
    this.#isReady = isReady
    this.#options.onChange()
  }

  #ended(exit: Exit): void {
    this.#stopProbing()
    this.#isReady = false
    this.#isStarted = false
    this.#state = this.#terminated(exit)
    const { restartPolicy } = this.#options
    const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exit.exitCode !== 0)
    if (!again || this.#isStopping) return this.#options.onChange()
    this.#lastState = this.#state
    this.#log.turn()
    this.#retryLater({ waiting: { reason: 'CrashLoopBackOff', message: `back-off restarting container ${this.name}` } })
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
    const ranMs = this.#startedAt === 0 ? 0 : clock.now() - this.#startedAt
    const failures = ranMs > 600_000 ? 0 : this.#restarts
    this.#state = state
    this.#cancelRestart = clock.after(Math.min(300_000, 1000 * 2 ** Math.min(failures, 9)), () => {
      this.#restarts++
      void this.start()
    })
    onChange()
  }

  #stopProbing(): void {
    for (const prober of this.#probers) prober.stop()
    this.#probers = []
  }
}
