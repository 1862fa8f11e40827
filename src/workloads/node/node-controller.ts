import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Key } from '../../kube/key.ts'
import { ignoring } from '../../kube/status-error.ts'
import { Controller } from '../../runtime/controller.ts'
import { settled, type Outcome } from '../../runtime/outcome.ts'
import type { WorkloadPorts } from '../ports.ts'
import { isPodFinished, pods, type Pod } from '../types.ts'
import { readLog, type LogQuery } from './container-log.ts'
import { endLeftovers } from './container-process.ts'
import { PodRunner } from './pod-runner.ts'

export interface NodeOptions extends WorkloadPorts {
  readonly nodeName: string
  /** Where logs and pids are kept. */
  readonly directory: string
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** The node: gives itself every Pod that has none, runs them, ends them. */
export class LocalNode {
  readonly controller: Controller
  readonly #options: NodeOptions
  /** By uid. */
  readonly #runners = new Map<string, PodRunner>()
  readonly #pods

  constructor(options: NodeOptions) {
    const { client, informers, ports, directory } = options
    this.#options = options
    endLeftovers(directory)
    this.#pods = informers.open<Pod>(client, pods)
    this.controller = new Controller({ name: 'node', reconcile: (key) => this.#reconcile(key), ports, concurrency: 16 })
    this.controller.watch(this.#pods)
    this.#pods.subscribe(({ type, object }) => type === 'deleted' && void this.#halt(object))
  }

  /** What a container has said. */
  logs(pod: Pod, container: string, query: Omit<LogQuery, 'isRunning'>): AsyncIterable<string> {
    const { directory, ports } = this.#options
    const runner = this.#runners.get(pod.metadata.uid)
    return readLog(
      join(directory, pod.metadata.uid, `${container}.log`),
      { ...query, isRunning: () => runner?.isRunning(container) ?? false },
      ports.clock,
    )
  }

  /** Ends every process. Their Pods stay: after a restart they run again. */
  async close(): Promise<void> {
    await Promise.all([...this.#runners.values()].map((runner) => runner.halt(2000)))
    this.#runners.clear()
  }

  async #reconcile({ namespace, name }: Key): Promise<Outcome> {
    const { client, nodeName } = this.#options
    const pod = this.#pods.get(namespace, name)
    if (!pod) return settled
    const { uid, deletionTimestamp } = pod.metadata
    if (deletionTimestamp) return this.#end(pod)
    if (!pod.spec.nodeName) {
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      }
      await client.create(pods, binding, { subresource: 'binding' }).catch(ignoring('Conflict', 'NotFound'))
      return settled
    }
    if (pod.spec.nodeName !== nodeName || this.#runners.has(uid) || isPodFinished(pod)) return settled
    const runner = this.#newRunner(pod)
    this.#runners.set(uid, runner)
    void runner.start().catch((error: unknown) => {
      this.#runners.delete(uid)
      this.#options.ports.log.error('pod not started', { pod: name, error: String(error) })
    })
    return settled
  }

  async #end(pod: Pod): Promise<Outcome> {
    const { uid } = pod.metadata
    const runner = this.#runners.get(uid) ?? this.#newRunner(pod)
    this.#runners.set(uid, runner)
    // Not awaited: a long grace must not hold a worker.
    void runner
      .stop()
      .then(() => runner.confirm(pod))
      .catch((error: unknown) =>
        this.#options.ports.log.error('pod not ended', { pod: pod.metadata.name, error: String(error) }),
      )
    return Promise.resolve(settled)
  }

  /** Gone, perhaps by force: neither its processes nor its logs must outlive it. */
  async #halt({ metadata: { uid } }: Pod): Promise<void> {
    const runner = this.#runners.get(uid)
    this.#runners.delete(uid)
    await runner?.halt(0)
    rmSync(join(this.#options.directory, uid), { recursive: true, force: true })
  }

  #newRunner(pod: Pod): PodRunner {
    const { client, ports, directory, nodeName, inherited } = this.#options
    return new PodRunner(pod, { client, clock: ports.clock, log: ports.log, directory, nodeName, inherited })
  }
}
