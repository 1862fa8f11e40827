import { nodes, pods } from '../../kube/core-types.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Change } from '../../runtime/cache/informer.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { WorkloadPorts } from '../ports.ts'
import { isPodFinished, type Node, type Pod, type PodCondition } from '../types.ts'
import { readLog, type LogQuery } from './container-log.ts'
import { killLeftovers } from './container-process.ts'
import { PodRunner } from './pod-runner.ts'

export interface NodeOptions extends WorkloadPorts {
  readonly nodeName: string
  /** Holds logs and pid files. */
  readonly directory: string
  readonly inherited: Readonly<Record<string, string | undefined>>
}

/** The only node: binds every unscheduled Pod to itself unless it is cordoned, runs the Pods and stops them. */
export class LocalNode {
  readonly controller: Controller
  readonly #options: NodeOptions
  /** By the Pod's uid. */
  readonly #runners = new Map<string, PodRunner>()
  #isClosed = false
  readonly #pods
  readonly #nodes
  /** Pods that found no room, by uid, the first one first. */
  readonly #waiting = new Map<string, Pod>()

  constructor(options: NodeOptions) {
    const { client, informers, ports, directory } = options
    this.#options = options
    killLeftovers(directory)
    this.#pods = informers.open<Pod>(client, pods, { indexes: { node: nodeOf } })
    this.#nodes = informers.open<Node>(client, nodes)
    this.controller = new Controller({ name: 'node', reconcile: (key) => this.#reconcile(key), ports, concurrency: 16 })
    this.controller.watch(this.#pods, (change) => this.#keysOf(change))
    this.controller.watch(this.#nodes, () =>
      this.#pods
        .list()
        .filter(({ spec }) => !spec.nodeName)
        .map((pod) => keyOf(pod)),
    )
    this.#pods.subscribe(({ type, object }) => type === 'deleted' && void this.#discard(object))
  }

  /** The log of a container. */
  logs(pod: Pod, container: string, query: Omit<LogQuery, 'isRunning'>): AsyncIterable<string> {
    const { directory, ports } = this.#options
    const runner = this.#runners.get(pod.metadata.uid)
    return readLog(
      join(directory, pod.metadata.uid, `${container}.log`),
      { ...query, isRunning: () => runner?.isRunning(container) ?? false },
      ports.clock,
    )
  }

  /** Stops every process. The Pods remain in the API: after a restart they run again. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop(2000)))
    this.#runners.clear()
  }

  async #reconcile({ namespace, name }: Key): Promise<Outcome> {
    const pod = this.#pods.get(namespace, name)
    if (!pod || this.#isClosed) return settled
    const { uid, deletionTimestamp } = pod.metadata
    if (deletionTimestamp) return this.#stop(pod)
    if (!pod.spec.nodeName) {
      if (!this.#nodes.synced) return wakeAt(this.#options.ports.clock.now() + 50)
      await this.#schedule(pod)
      return settled
    }
    if (pod.spec.nodeName !== this.#options.nodeName || isPodFinished(pod)) return settled
    const running = this.#runners.get(uid)
    running?.observe(pod)
    if (running) return this.#untilDeadline(pod, running)
    const runner = this.#newRunner(pod)
    await runner.prepare()
    this.#runners.set(uid, runner)
    void runner.start().catch((error: unknown) => {
      this.#runners.delete(uid)
      this.#options.ports.log.error('pod not started', { pod: name, error: String(error) })
    })
    return settled
  }

  /** Ends a Pod that is active for longer than it may be. The deadline counts from the start that its status tells. */
  #untilDeadline({ spec, status }: Pod, runner: PodRunner): Outcome {
    const startedAt = parseTime(status?.startTime)
    if (spec.activeDeadlineSeconds === undefined || startedAt === undefined) return settled
    const deadline = startedAt + spec.activeDeadlineSeconds * 1000
    if (this.#options.ports.clock.now() < deadline) return wakeAt(deadline)
    runner.exceedDeadline()
    return settled
  }

  /** A changed Pod, and the first one that waits for room when this one has freed some. */
  *#keysOf({ type, object }: Change<Pod>): Generator<Key> {
    yield keyOf(object)
    if (type === 'deleted') this.#waiting.delete(object.metadata.uid)
    else if (!isPodFinished(object)) return
    const [next] = this.#waiting.values()
    if (next) yield keyOf(next)
  }

  async #schedule(pod: Pod): Promise<void> {
    if (pod.spec.schedulingGates?.length || (pod.spec.schedulerName ?? ours) !== ours) return
    const { client, nodeName } = this.#options
    const { name, namespace = '', uid } = pod.metadata
    const node = this.#nodes.get('', nodeName)
    this.#waiting.delete(uid)
    if (node?.spec?.unschedulable && !toleratesCordon(pod))
      return this.#markUnschedulable(pod, '1 node(s) were unschedulable')
    const room = Number(node?.status?.allocatable?.pods ?? Number.POSITIVE_INFINITY)
    if (this.#pods.byIndex('node', nodeName).length >= room) {
      this.#waiting.set(uid, pod)
      return this.#markUnschedulable(pod, '1 Too many pods')
    }
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
    }
    await client.create(pods, binding, { subresource: 'binding' }).catch(ignoring('Conflict', 'NotFound'))
  }

  async #markUnschedulable(pod: Pod, why: string): Promise<void> {
    const { client, events, ports } = this.#options
    const { name, namespace = '', uid, generation } = pod.metadata
    if (pod.status?.conditions?.some(({ reason }) => reason === 'Unschedulable')) return
    const message = `0/1 nodes are available: ${why}.`
    const scheduled: PodCondition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      observedGeneration: generation,
      lastTransitionTime: formatTime(ports.clock.now()),
    }
    const body = {
      metadata: { uid },
      status: { phase: 'Pending', observedGeneration: generation, conditions: [scheduled] },
    }
    await client
      .patch(pods, { namespace, name }, { type: 'strategic', body }, { subresource: 'status' })
      .catch(ignoring('Conflict', 'NotFound'))
    events.record(pod, { type: 'Warning', reason: 'FailedScheduling', message })
  }

  async #stop(pod: Pod): Promise<Outcome> {
    const { uid, deletionGracePeriodSeconds = 30 } = pod.metadata
    const runner = this.#runners.getOrInsertComputed(uid, () => this.#newRunner(pod))
    runner.observe(pod)
    // Not awaited: a long grace period must not block a worker.
    void runner
      .stop(deletionGracePeriodSeconds * 1000)
      .then(() => runner.deletePod(pod))
      .catch((error: unknown) =>
        this.#options.ports.log.error('pod not stopped', { pod: pod.metadata.name, error: String(error) }),
      )
    return Promise.resolve(settled)
  }

  /** The Pod is deleted, perhaps by force: its processes and logs must not outlive it. */
  async #discard({ metadata: { uid } }: Pod): Promise<void> {
    const runner = this.#runners.get(uid)
    this.#runners.delete(uid)
    await runner?.stop(0)
    rmSync(join(this.#options.directory, uid), { recursive: true, force: true })
  }

  #newRunner(pod: Pod): PodRunner {
    const { ports, ...options } = this.#options
    return new PodRunner(pod, { ...options, clock: ports.clock, log: ports.log })
  }
}

/** Index of Pods that take room on a node. */
function nodeOf(pod: Pod): readonly string[] {
  return pod.spec.nodeName && !isPodFinished(pod) ? [pod.spec.nodeName] : []
}

/** The scheduler of Pods that name none. Pods of another one are bound by it. */
const ours = 'default-scheduler'

/** Whether a Pod may run on a cordoned node, as Pods of DaemonSets do. */
function toleratesCordon({ spec }: Pod): boolean {
  return (spec.tolerations ?? []).some(
    ({ key, operator, effect = 'NoSchedule' }) =>
      effect === 'NoSchedule' &&
      (key === 'node.kubernetes.io/unschedulable' || (key === undefined && operator === 'Exists')),
  )
}
