import { pods } from '../../kube/core-types.ts'
import { text, type Answer } from '../../apiserver/http/response/answer.ts'
import type { ResourceHandler } from '../../apiserver/http/edge.ts'
import { StatusError } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'
import type { LocalNode } from '../../workloads/node/node-controller.ts'
import { portsAnnotation } from '../../workloads/ports-annotation.ts'
import { type Pod } from '../../workloads/types.ts'
import type { Core } from '../core/core.ts'

/** Runs workloads of the embedded server on this machine, serves their logs, and says why it serves no terminals and tunnels. */
export class EmbeddedWorkloads {
  #core: Core | undefined
  #node: LocalNode | undefined

  readonly handlers: ReadonlyMap<string, ResourceHandler> = new Map<string, ResourceHandler>([
    ['get pods/log', (call) => this.#logs(call)],
    ...['exec', 'attach', 'portforward'].flatMap((subresource): [string, ResourceHandler][] =>
      ['get', 'create'].map((verb) => [`${verb} pods/${subresource}`, (call) => this.#refuse(call)]),
    ),
  ])

  async start(
    core: Core,
    { nodeName, directory }: { readonly nodeName: string; readonly directory: string },
  ): Promise<void> {
    // Who runs no workloads does not load what runs them.
    const { LocalNode } = await import('../../workloads/node/node-controller.ts')
    const { workloadControllers } = await import('../../workloads/controllers/workloads.ts')
    const { PATH, HOME, LANG, TMPDIR, USER } = process.env
    const node = new LocalNode({ ...core, nodeName, directory, inherited: { PATH, HOME, LANG, TMPDIR, USER } })
    this.#core = core
    this.#node = node
    for (const controller of [...workloadControllers(core), node.controller]) core.run(controller)
    core.onStop(() => node.close())
  }

  /** A running part of a Pod; says so while nothing runs workloads. */
  async #find({
    info,
  }: Parameters<ResourceHandler>[0]): Promise<{ readonly pod: Pod; readonly node: LocalNode; readonly core: Core }> {
    if (!this.#core || !this.#node)
      throw new StatusError('ServiceUnavailable', 'no workloads are run here: start the role "workloads"')
    const pod = await this.#core.client.get<Pod>(pods, { namespace: info.namespace, name: info.name })
    return { pod, node: this.#node, core: this.#core }
  }

  async #refuse(call: Parameters<ResourceHandler>[0]): Promise<Answer> {
    const { pod } = await this.#find(call)
    throw new StatusError('MethodNotAllowed', whereToGo(pod, call.info.subresource))
  }

  async #logs(call: Parameters<ResourceHandler>[0]): Promise<Answer> {
    const { request } = call
    const { query } = request
    const { pod, node, core } = await this.#find(call)
    const container = query.container || containerOf(pod)
    if (!pod.spec.containers.concat(pod.spec.initContainers ?? []).some(({ name }) => name === container))
      throw new StatusError('BadRequest', `container ${container} is not valid for pod ${pod.metadata.name}`)
    const isPrevious = query.previous === 'true'
    requireLog(pod, container, isPrevious)
    const sinceSeconds = numberOf(query.sinceSeconds)
    const sinceMs = sinceSeconds === undefined ? parseTime(query.sinceTime) : core.clock.now() - sinceSeconds * 1000
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
      : text(await joined(chunks))
  }
}

/** What exec, attach and port-forward would reach is a process on this machine, and can be reached without them. */
function whereToGo({ metadata, status }: Pod, subresource: string): string {
  if (subresource === 'portforward')
    return `port-forward is not needed here: pods listen on this machine; the real port of each containerPort of ${metadata.name} is in its annotation ${portsAnnotation}: ${metadata.annotations?.[portsAnnotation] ?? '{}'}`
  const processes = (status?.containerStatuses ?? [])
    .filter(({ containerID }) => containerID)
    .map(({ name, containerID = '' }) => `${name} is process ${containerID.replace('process://', '')}`)
  const found = processes.length > 0 ? `: ${processes.join(', ')}` : ''
  return `${subresource} is not served here: the containers of ${metadata.name} are plain processes on this machine${found}`
}

/** As a kubelet says it when there is no log to show. */
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

async function joined(chunks: AsyncIterable<string>): Promise<string> {
  let all = ''
  for await (const chunk of chunks) all += chunk
  return all
}
