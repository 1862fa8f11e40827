import { text as textOf } from 'node:stream/consumers'
import { text, type Answer } from '../../apiserver/http/response/answer.ts'
import type { ResourceHandler } from '../../apiserver/http/edge.ts'
import { pods } from '../../kube/core-types.ts'
import { StatusError } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'
import type { LocalNode } from '../../workloads/node/node-controller.ts'
import { portsAnnotation } from '../../workloads/ports-annotation.ts'
import type { Pod } from '../../workloads/types.ts'
import type { Instance } from '../core/instance.ts'

/** Runs the embedded server's Pods as local processes and serves their logs; answers why exec and port-forward are not served. */
export class EmbeddedWorkloads {
  #instance: Instance | undefined
  #node: LocalNode | undefined

  readonly handlers: ReadonlyMap<string, ResourceHandler> = new Map<string, ResourceHandler>([
    ['get pods/log', (call) => this.#logs(call)],
    ...['exec', 'attach', 'portforward'].flatMap((subresource): [string, ResourceHandler][] =>
      ['get', 'create'].map((verb) => [`${verb} pods/${subresource}`, (call) => this.#refuse(call)]),
    ),
    ['update pods/ephemeralcontainers', (call) => this.#refuse(call)],
    ['patch pods/ephemeralcontainers', (call) => this.#refuse(call)],
  ])

  async start(
    instance: Instance,
    { nodeName, directory }: { readonly nodeName: string; readonly directory: string },
  ): Promise<void> {
    // Loaded only where the role runs.
    const { LocalNode } = await import('../../workloads/node/node-controller.ts')
    const { workloadControllers } = await import('../../workloads/controllers/workloads.ts')
    const { client, informers, ports, events, lifecycle } = instance
    const workloadPorts = { client, informers, ports, events }
    const { PATH, HOME, LANG, TMPDIR, USER } = process.env
    const node = new LocalNode({ ...workloadPorts, nodeName, directory, inherited: { PATH, HOME, LANG, TMPDIR, USER } })
    this.#instance = instance
    this.#node = node
    for (const controller of [...workloadControllers(workloadPorts), node.controller])
      lifecycle.run('workloads', controller)
    lifecycle.onStop(() => node.close())
  }

  /** The Pod of a request; refuses while the role `workloads` does not run. */
  async #find({
    info,
  }: Parameters<ResourceHandler>[0]): Promise<{ readonly pod: Pod; readonly node: LocalNode; readonly now: number }> {
    if (!this.#instance || !this.#node)
      throw new StatusError('ServiceUnavailable', 'this server runs no workloads: start it with the role "workloads"')
    const { client, clock } = this.#instance
    const pod = await client.get<Pod>(pods, { namespace: info.namespace, name: info.name })
    return { pod, node: this.#node, now: clock.now() }
  }

  async #refuse(call: Parameters<ResourceHandler>[0]): Promise<Answer> {
    const { pod } = await this.#find(call)
    throw new StatusError('MethodNotAllowed', alternativeTo(pod, call.info.subresource))
  }

  async #logs(call: Parameters<ResourceHandler>[0]): Promise<Answer> {
    const { request } = call
    const { query } = request
    const { pod, node, now } = await this.#find(call)
    const container = query.container || containerOf(pod)
    if (!pod.spec.containers.concat(pod.spec.initContainers ?? []).some(({ name }) => name === container))
      throw new StatusError('BadRequest', `container ${container} is not valid for pod ${pod.metadata.name}`)
    const isPrevious = query.previous === 'true'
    requireLog(pod, container, isPrevious)
    const sinceSeconds = numberOf(query.sinceSeconds)
    const sinceMs = sinceSeconds === undefined ? parseTime(query.sinceTime) : now - sinceSeconds * 1000
    const limitBytes = numberOf(query.limitBytes)
    const chunks = node.logs(pod, container, {
      timestamps: query.timestamps === 'true',
      follow: query.follow === 'true',
      previous: isPrevious,
      ...(query.tailLines === undefined ? {} : { tailLines: numberOf(query.tailLines) ?? 0 }),
      ...(sinceMs === undefined ? {} : { sinceMs }),
      ...(limitBytes === undefined ? {} : { limitBytes }),
      ...(request.signal ? { signal: request.signal } : {}),
    })
    return query.follow === 'true'
      ? { status: 200, content: { is: 'stream', type: 'text/plain', chunks } }
      : text(await textOf(chunks))
  }
}

/** Names the local processes and ports that exec, attach and port-forward would have reached. */
function alternativeTo({ metadata, status }: Pod, subresource: string): string {
  if (subresource === 'portforward')
    return `port-forward is not served: pods listen on this machine. The annotation ${portsAnnotation} of ${metadata.name} has the port of each containerPort: ${metadata.annotations?.[portsAnnotation] ?? '{}'}`
  const processes = (status?.containerStatuses ?? [])
    .filter(({ containerID }) => containerID)
    .map(({ name, containerID = '' }) => `${name} is process ${containerID.replace('process://', '')}`)
  const found =
    processes.length > 0
      ? `the containers of ${metadata.name} are processes on this machine: ${processes.join(', ')}`
      : `no process of ${metadata.name} runs; a container without a command is simulated`
  return `${subresource} is not served: ${found}`
}

/** Fails as a kubelet does when there is no log to show. */
function requireLog({ metadata, status }: Pod, container: string, isPrevious: boolean): void {
  const found = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    ({ name }) => name === container,
  )
  if (isPrevious && (found?.restartCount ?? 0) === 0 && !found?.lastState?.terminated)
    throw new StatusError(
      'BadRequest',
      `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(metadata.name)} not found`,
    )
  const waiting = found ? found.state.waiting : { reason: 'ContainerCreating' }
  if (waiting && !found?.lastState?.terminated)
    throw new StatusError(
      'BadRequest',
      `container ${JSON.stringify(container)} in pod ${JSON.stringify(metadata.name)} is waiting to start: ${waiting.reason}`,
    )
}

function containerOf({ spec, metadata }: Pod): string {
  const [first, second] = spec.containers
  if (second)
    throw new StatusError(
      'BadRequest',
      `a container name must be specified for pod ${metadata.name}, choose one of: [${spec.containers.map(({ name }) => name).join(' ')}]`,
    )
  return first?.name ?? ''
}

function numberOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!/^\d+$/.test(value)) throw new StatusError('BadRequest', `${JSON.stringify(value)} is not a number`)
  return Number(value)
}
