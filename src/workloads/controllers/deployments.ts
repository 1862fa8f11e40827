import { deployments, replicaSets } from '../../kube/core-types.ts'
import { createHash } from 'node:crypto'
import type { Key } from '../../kube/key.ts'
import { placeOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { ownerController, type OwnerController } from '../adoption.ts'
import { createNew, writeStatus, whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { deploymentStatus, type Deployment } from './deployment-status.ts'
import { planRollout } from './rollout.ts'
import { controllerRef, type PodTemplate, type Workload } from '../types.ts'

/** A Deployment with its ReplicaSets, as one reconcile sees them. */
interface Observed {
  readonly key: Key
  readonly deployment: Deployment
  readonly owned: readonly Workload[]
  /** The ReplicaSet of the current template. */
  readonly current: Workload | undefined
}

/** Rolls Deployments out through ReplicaSets, one per revision. */
export function deploymentController(ports: WorkloadPorts): Controller {
  return new DeploymentReconciler(ports).controller
}

class DeploymentReconciler {
  readonly controller: Controller
  readonly #ports: WorkloadPorts
  readonly #own: OwnerController<Deployment, Workload>

  constructor(ports: WorkloadPorts) {
    this.#ports = ports
    const reconcile = (key: Key) => this.#reconcile(key)
    this.#own = ownerController(ports, { ownerType: deployments, type: replicaSets, reconcile, concurrency: 4 })
    this.controller = this.#own.controller
  }

  async #reconcile(key: Key): Promise<Outcome> {
    const { owners, claims } = this.#own
    const deployment = owners.get(key.namespace, key.name)
    if (!deployment || deployment.metadata.deletionTimestamp) return settled
    if (!claims.dependents.synced) return whenRead(this.#ports)
    const claimed = await claims.of(deployment)
    const owned = claimed.filter(({ metadata }) => !metadata.deletionTimestamp)
    const current = owned.find((set) => isOfTemplate(set, deployment.spec.template))
    if (!current && !deployment.spec.paused) {
      claims.expect(key, await createNew(this.#ports.client, replicaSets, replicaSetFor(deployment, owned)))
      return settled
    }
    const observed = { key, deployment, owned, current }
    if (current) await this.#updateRevision(observed, current)
    await this.#rollOut(observed)
    await this.#pruneHistory(observed)
    return this.#report(observed)
  }

  async #rollOut({ key, deployment, owned, current }: Observed): Promise<void> {
    const { client, events } = this.#ports
    const { replicas = 1, strategy = {}, paused = false } = deployment.spec
    for (const { set, replicas: next } of planRollout({
      wanted: replicas,
      strategy,
      current,
      owned,
      isPaused: paused,
    })) {
      const { name, resourceVersion } = set.metadata
      const body = { metadata: { resourceVersion }, spec: { replicas: next } }
      const scaled = await client.merge<StoredObject>(replicaSets, placeOf(set.metadata), body)
      this.#own.claims.expect(key, scaled)
      const before = set.spec.replicas ?? 0
      events.record(deployment, {
        type: 'Normal',
        reason: 'ScalingReplicaSet',
        message: `Scaled ${next > before ? 'up' : 'down'} replica set ${name} from ${before} to ${next}`,
      })
    }
  }

  /** Gives the current ReplicaSet the highest revision, also after a rollback to an old template, and shows it on the Deployment. */
  async #updateRevision({ key, deployment, owned }: Observed, current: Workload): Promise<void> {
    const newest = Math.max(...owned.map(revisionOf))
    const revision = revisionOf(current) < newest ? newest + 1 : newest
    if (revision !== revisionOf(current)) await this.#setRevision(replicaSets, current, revision)
    if (deployment.metadata.annotations?.[revisionAnnotation] === String(revision)) return
    const written = await this.#setRevision(deployments, deployment, revision)
    this.controller.expect(key, written.metadata.resourceVersion)
  }

  #setRevision(type: ResourceType, { metadata }: StoredObject, revision: number): Promise<StoredObject> {
    const body = { metadata: { annotations: { [revisionAnnotation]: String(revision) } } }
    return this.#ports.client.merge(type, placeOf(metadata), body)
  }

  /** Deletes scaled-down ReplicaSets beyond `revisionHistoryLimit`, the oldest first. */
  async #pruneHistory({ deployment, owned, current }: Observed): Promise<void> {
    const old = owned
      .filter((set) => set !== current && (set.spec.replicas ?? 0) === 0 && Number(set.status?.replicas ?? 0) === 0)
      .toSorted((left, right) => revisionOf(right) - revisionOf(left))
    for (const set of old.slice(deployment.spec.revisionHistoryLimit ?? 10))
      await deleteOwned(this.#ports.client, replicaSets, set)
  }

  async #report({ key, deployment, owned, current }: Observed): Promise<Outcome> {
    const { client, ports } = this.#ports
    const { status, deadlineAt } = deploymentStatus(deployment, { owned, current, now: ports.clock.now() })
    const written = await writeStatus(client, deployments, deployment, status)
    if (written) this.controller.expect(key, written.metadata.resourceVersion)
    return deadlineAt === undefined ? settled : wakeAt(deadlineAt)
  }
}

const revisionAnnotation = 'deployment.kubernetes.io/revision'

/** The hash in the name of a template's ReplicaSet and in the labels of its Pods. */
export function templateHash(template: PodTemplate): string {
  const digest = createHash('sha256').update(JSON.stringify(template)).digest()
  return Array.from(digest.subarray(0, 10), (byte) => safeLetters[byte % safeLetters.length]).join('')
}

const safeLetters = 'bcdfghjklmnpqrstvwxz2456789'

function isOfTemplate(set: Workload, template: PodTemplate): boolean {
  const { 'pod-template-hash': _, ...labels } = set.spec.template.metadata?.labels ?? {}
  return deepEqual(
    { ...set.spec.template, metadata: { ...set.spec.template.metadata, labels } },
    { ...template, metadata: { ...template.metadata, labels: template.metadata?.labels ?? {} } },
  )
}

function replicaSetFor(deployment: Deployment, owned: readonly Workload[]) {
  const { selector, template, minReadySeconds } = deployment.spec
  const hash = templateHash(template)
  const labels = { ...template.metadata?.labels, 'pod-template-hash': hash }
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...annotations } =
    deployment.metadata.annotations ?? {}
  const revision = Math.max(0, ...owned.map(revisionOf)) + 1
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: { ...annotations, [revisionAnnotation]: String(revision) },
      ownerReferences: [controllerRef(deployments, deployment)],
    },
    spec: {
      replicas: 0,
      ...(minReadySeconds ? { minReadySeconds } : {}),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, 'pod-template-hash': hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

function revisionOf({ metadata }: StoredObject): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0)
}
