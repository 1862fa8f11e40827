import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { normalised } from './normalise.ts'
import { ask, type Reply, type Scenario, type Step, type Target } from './target.ts'

/** What a server answered to one step, without what differs from run to run. */
export interface Line {
  readonly step: string
  readonly status: number
  readonly type?: string
  readonly warnings?: readonly string[]
  readonly body?: unknown
}

/** Plays a scenario in a namespace of its own and writes down the answers. `NS` in paths and bodies stands for it. */
export async function transcribe(target: Target, { name, steps }: Scenario): Promise<readonly Line[]> {
  const agent = new Agent({ ca: target.ca })
  const namespace = `conf-${name.replaceAll(/[^a-z0-9]+/g, '-')}`
  const lines: Line[] = []
  try {
    await ask(target, agent, {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    })
    for (const step of steps) lines.push(await play(target, agent, inNamespace(step, namespace)))
    await ask(target, agent, { method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
  } finally {
    agent.destroy()
  }
  return lines
}

async function play(target: Target, agent: Agent, step: Step): Promise<Line> {
  const { status, type, warnings, body } = await settled(target, agent, step)
  const title = `${step.method ?? 'GET'} ${step.path}${step.as ? ` as ${step.as}` : ''}`
  if (step.unlike && status < 400) return { step: title, status, ...(step.warnings ? { warnings } : {}) }
  return {
    step: title,
    status,
    type,
    ...(warnings.length > 0 ? { warnings } : {}),
    body: normalised(body),
  }
}

/** The answer, or for steps that say so the first one with the code they wait for. */
async function settled(target: Target, agent: Agent, step: Step): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    const reply = await ask(target, agent, step)
    if (step.until === undefined || reply.status === step.until || attempt === 100) return reply
    await sleep(50)
  }
}

function inNamespace(step: Step, namespace: string): Step {
  const replace = (text: string) => text.replaceAll('NS', namespace)
  const { body } = step
  return {
    ...step,
    path: replace(step.path),
    ...(body === undefined
      ? {}
      : {
          body:
            typeof body === 'string'
              ? replace(body)
              : body instanceof Uint8Array
                ? body
                : (JSON.parse(replace(JSON.stringify(body))) as unknown),
        }),
  }
}
