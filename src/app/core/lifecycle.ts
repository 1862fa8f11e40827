interface Startable {
  start(signal: AbortSignal): Promise<void>
}

/** Runs the controllers of an instance, and stops everything in reverse order of its start. */
export class Lifecycle {
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #stops: (() => void | Promise<void>)[] = []
  readonly #untilLeader: ((signal: AbortSignal) => Promise<void>) | undefined

  /** `untilLeader` resolves when this replica leads; undefined where there is only one. */
  constructor(untilLeader?: (signal: AbortSignal) => Promise<void>) {
    this.#untilLeader = untilLeader
  }

  /** Whether other replicas may share the work. */
  get isReplicated(): boolean {
    return this.#untilLeader !== undefined
  }

  /** Aborts when the instance stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Runs a controller until the instance stops; of several replicas, only the leader runs it. */
  run(controller: Startable): void {
    const leading = this.#untilLeader?.(this.signal) ?? Promise.resolve()
    this.#running.push(leading.then(() => controller.start(this.signal)))
  }

  /** Runs a controller on every replica until the instance stops. */
  runEverywhere(controller: Startable): void {
    this.#running.push(controller.start(this.signal))
  }

  /** Calls `stop` after the controllers have ended; what was registered last is called first. */
  onStop(stop: () => void | Promise<void>): void {
    this.#stops.push(stop)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopping'))
    await Promise.allSettled(this.#running)
    for (const stop of this.#stops.toReversed()) await stop()
  }
}
