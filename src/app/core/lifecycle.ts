import type { Role } from '../config/config.ts'
import type { Leads } from './leadership.ts'

interface Startable {
  start(signal: AbortSignal): Promise<void>
}

/** Runs the controllers of an instance, and stops everything in reverse order of its start. */
export class Lifecycle {
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #stops: (() => void | Promise<void>)[] = []
  readonly #leadership: Leads | undefined

  /** Without `leadership` there is only one replica. */
  constructor(leadership?: Leads) {
    this.#leadership = leadership
  }

  /** Whether other replicas may share the work. */
  get isReplicated(): boolean {
    return this.#leadership !== undefined
  }

  /** Aborts when the instance stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Whether this replica leads the role now. */
  leads(role: Role): boolean {
    return this.#leadership?.holds(role) ?? true
  }

  /** Runs a controller of a role until the instance stops; of several replicas, only the role's leader runs it. */
  run(role: Role, controller: Startable): void {
    const leading = this.#leadership?.won(role, this.signal) ?? Promise.resolve()
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
