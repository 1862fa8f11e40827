import type { StoredObject } from '../../kube/object.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Graph } from './graph/graph.ts'
import { describeObstacle, obstaclesOf } from './preview/preview.ts'
import type { BondEdges } from './graph/bond-edges.ts'

export interface ReportPorts {
  readonly events: EventRecorder
  readonly graph: Graph
  readonly bondEdges: BondEdges
}

/** Emits Events about what the collector found and did not delete. */
export class Reports {
  readonly #ports: ReportPorts

  constructor(ports: ReportPorts) {
    this.#ports = ports
  }

  kept(object: StoredObject, because: string): void {
    this.#ports.events.record(object, {
      type: 'Normal',
      reason: 'KeptWithoutOwner',
      message: `its owners are gone, but it is kept: ${because}`,
    })
  }

  /** Emits what the deletion of an object waits for, and returns it; undefined when nothing blocks it. */
  waiting(object: StoredObject, node: number): string | undefined {
    const { events, graph, bondEdges } = this.#ports
    const obstacles = obstaclesOf(graph, bondEdges, node)
    if (obstacles.length === 0) return undefined
    const message = `its deletion waits for ${obstacles.map(describeObstacle).join('; ')}`
    events.record(object, { type: 'Warning', reason: 'CascadeWaiting', message })
    return message
  }

  unanchored(object: StoredObject, members: readonly number[]): void {
    const { events, graph } = this.#ports
    const names = members.slice(0, maxNames).map((member) => graph.object(member)?.metadata.name)
    events.record(object, {
      type: 'Warning',
      reason: 'UnanchoredCycle',
      message: `only a cycle of owners keeps it: ${names.join(', ')}. They stay until you delete one of them`,
    })
  }

  /** Warns about owners in other namespaces, which Kubernetes treats as absent; true when there are any. */
  foreignOwners(object: StoredObject): boolean {
    const { events, graph } = this.#ports
    const { namespace = '', ownerReferences = [] } = object.metadata
    const foreign = ownerReferences.filter(({ uid }) => {
      const owner = graph.object(graph.find(uid) ?? -1)
      return owner?.metadata.namespace && owner.metadata.namespace !== object.metadata.namespace
    })
    for (const { uid, kind, name } of foreign)
      events.record(object, {
        type: 'Warning',
        reason: 'OwnerRefInvalidNamespace',
        message: `ownerRef [${kind} ${name}, uid: ${uid}] does not exist in namespace "${namespace}"; a Bond can reach across namespaces`,
      })
    return foreign.length > 0
  }
}

const maxNames = 10
