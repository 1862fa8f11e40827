import type { StoredObject } from '../../kube/object.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Graph } from './graph/graph.ts'
import { describeObstacle, obstaclesOf } from './preview/obstacles.ts'
import type { BondEdges } from './graph/bond-edges.ts'

/** Tells people, by Events, what the collector found and did not do. */
export class Reports {
  readonly #ports: { readonly events: EventRecorder; readonly graph: Graph; readonly bondEdges: BondEdges }

  constructor(ports: { readonly events: EventRecorder; readonly graph: Graph; readonly bondEdges: BondEdges }) {
    this.#ports = ports
  }

  spared(object: StoredObject, because: string): void {
    this.#ports.events.record(object, {
      type: 'Normal',
      reason: 'KeptWithoutOwner',
      message: `its owners are gone, but it stays: ${because}`,
    })
  }

  /** Names what an object that should long be gone waits for, and answers that; undefined when nothing is in its way. */
  waiting(object: StoredObject, node: number): string | undefined {
    const { events, graph, bondEdges } = this.#ports
    const obstacles = obstaclesOf(graph, bondEdges, node)
    if (obstacles.length === 0) return undefined
    const message = `it cannot go before ${obstacles.map(describeObstacle).join('; ')}`
    events.record(object, { type: 'Warning', reason: 'CascadeWaiting', message })
    return message
  }

  unanchored(object: StoredObject, members: readonly number[]): void {
    const { events, graph } = this.#ports
    const names = members.slice(0, maxNames).map((member) => graph.object(member)?.metadata.name)
    events.record(object, {
      type: 'Warning',
      reason: 'UnanchoredCycle',
      message: `nothing keeps it but a circle of owners: ${names.join(', ')}. They stay until one of them is deleted`,
    })
  }

  /** Warns of owners in other namespaces, which Kubernetes takes for absent; true when there are any. */
  foreignOwners(object: StoredObject): boolean {
    const { events, graph } = this.#ports
    let isAny = false
    for (const { uid, kind, name } of object.metadata.ownerReferences ?? []) {
      const node = graph.find(uid)
      const owner = node === undefined ? undefined : graph.object(node)
      if (!owner?.metadata.namespace || owner.metadata.namespace === object.metadata.namespace) continue
      isAny = true
      events.record(object, {
        type: 'Warning',
        reason: 'OwnerRefInvalidNamespace',
        message: `ownerRef [${kind} ${name}, uid: ${uid}] does not exist in namespace "${object.metadata.namespace ?? ''}"; a Bond can reach across namespaces`,
      })
    }
    return isAny
  }
}

const maxNames = 10
