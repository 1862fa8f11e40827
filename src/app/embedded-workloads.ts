import { text, type Answer } from '../apiserver/http/answer.ts'
import type { ResourceHandler } from '../apiserver/http/edge.ts'
import { StatusError } from '../kube/status-error.ts'
import type { LocalNode } from '../workloads/node/node-controller.ts'
import { pods, type Pod } from '../workloads/types.ts'
import type { Core } from './core.ts'

/** Runs workloads of the embedded server on this machine, and serves their logs. */
export class EmbeddedWorkloads {
  #core: Core | undefined
  #node: LocalNode | undefined

  /** `kubectl logs`; says so while nothing runs workloads. */
  readonly handlers: ReadonlyMap<string, ResourceHandler> = new Map([['get pods/log', (call) => this.#logs(call)]])

  async start(
    core: Core,
    { nodeName, directory }: { readonly nodeName: string; readonly directory: string },
  ): Promise<void> {
    // Who runs no workloads does not load what runs them.
    const { LocalNode } = await import('../workloads/node/node-controller.ts')
    const { workloadControllers } = await import('../workloads/workloads.ts')
    const { PATH, HOME, LANG, TMPDIR, USER } = process.env
    const node = new LocalNode({ ...core, nodeName, directory, inherited: { PATH, HOME, LANG, TMPDIR, USER } })
    this.#core = core
    this.#node = node
    for (const controller of [...workloadControllers(core), node.controller]) core.run(controller)
    core.onStop(() => node.close())
  }

  async #logs({ request, info }: Parameters<ResourceHandler>[0]): Promise<Answer> {
    if (!this.#core || !this.#node)
      throw new StatusError('ServiceUnavailable', 'no workloads are run here: start the role "workloads"')
    const { query } = request
    const pod = await this.#core.client.get<Pod>(pods, { namespace: info.namespace, name: info.name })
    const container = query.container || containerOf(pod)
    if (!pod.spec.containers.concat(pod.spec.initContainers ?? []).some(({ name }) => name === container))
      throw new StatusError('BadRequest', `container ${container} is not valid for pod ${pod.metadata.name}`)
    const sinceSeconds = numberOf(query.sinceSeconds)
    const chunks = this.#node.logs(pod, container, {
      timestamps: query.timestamps === 'true',
      follow: query.follow === 'true',
      previous: query.previous === 'true',
      ...(query.tailLines === undefined ? {} : { tailLines: numberOf(query.tailLines) ?? 0 }),
      ...(sinceSeconds === undefined ? {} : { sinceMs: this.#core.clock.now() - sinceSeconds * 1000 }),
      ...(request.signal ? { signal: request.signal } : {}),
    })
    return query.follow === 'true'
      ? { status: 200, content: { is: 'stream', type: 'text/plain', chunks } }
      : text(await joined(chunks))
  }
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
