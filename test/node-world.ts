import { pods } from '../src/kube/core-types.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../src/runtime/time/clock.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { LocalNode } from '../src/workloads/node/node-controller.ts'
import { type Container, type Pod, type PodSpec } from '../src/workloads/types.ts'
import { workloadControllers } from '../src/workloads/controllers/workloads.ts'
import { startRealWorld, type World, type WorldOptions } from './world.ts'

/** A world in real time with a node that runs its Pods as processes. */
export interface NodeWorld extends World<Clock> {
  readonly node: LocalNode
  readonly directory: string
  /** The Pods of the namespace `team`. */
  pods(): Promise<readonly Pod[]>
  /** A Pod of one container that has these fields. */
  start(name: string, container: Partial<Container>, spec?: Partial<PodSpec>): Promise<Pod>
  pod(name: string): Promise<Pod | undefined>
}

export async function startNodeWorld(server: WorldOptions['server'] = {}): Promise<NodeWorld> {
  const directory = mkdtempSync(join(tmpdir(), 'pods-'))
  const world = await startRealWorld({ server: { nodeName: 'here', ...server } })
  const { PATH } = process.env
  const node = new LocalNode({
    ...world,
    ports: { ...world.ports, log: silentLogger },
    nodeName: 'here',
    directory,
    inherited: { PATH },
  })
  for (const controller of [...workloadControllers(world), node.controller]) world.run(controller)
  const all = async () => (await world.client.list<Pod>(pods, { namespace: 'team' })).items
  return {
    ...world,
    node,
    directory,
    pods: all,
    pod: async (name) => (await all()).find(({ metadata }) => metadata.name === name),
    start: (name, container, spec = {}) =>
      world.create<Pod>({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'team', labels: { app: name } },
        spec: { ...spec, containers: [{ name: 'c', image: 'none', ...container }, ...(spec.containers ?? [])] },
      }),
    async [Symbol.asyncDispose]() {
      await node.close()
      await world[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Looks until it is so; real processes take real time. */
export async function until<T>(look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (let tries = 0; tries < 800; tries++) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('it never came to be')
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True')
}

/** The process of a Pod's container. */
export function pidOf(pod: Pod, container = 'c'): number {
  const found = pod.status?.containerStatuses?.find(({ name }) => name === container)
  return Number(found?.containerID?.replace('process://', ''))
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
