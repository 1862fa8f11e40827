import { gitopsCluster } from '../../../apis/gitops-cluster.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { Client } from '../../../client/client.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { isSecret } from '../../../kube/redact.ts'
import type { Actor, ActsFor } from '../../../tenancy/act-as.ts'
import type { Plan, TargetPlan } from '../model/plan.ts'
import { servedType } from './served-type.ts'

/** On a GitopsCluster: the namespaces whose Pipelines may use its credentials, separated by commas; `*` for all. */
const allowFromAnnotation = 'sojourn.dev/allow-from'

export interface TargetAccessPorts {
  readonly client: Client
  readonly actAs: ActsFor
}

/** What a Pipeline may read: nothing that the user who wrote its spec may not read. */
export class TargetAccess {
  readonly #ports: TargetAccessPorts

  constructor(ports: TargetAccessPorts) {
    this.#ports = ports
  }

  /** Why targets of a plan must not be read, by target. Targets that may be read are absent. */
  async refusals(pipeline: Pipeline, { environments }: Plan): Promise<ReadonlyMap<TargetPlan, string>> {
    const actor = this.actorOf(pipeline)
    const home = pipeline.metadata.namespace ?? ''
    const targets = environments.flatMap((environment) => environment.targets)
    const found = await Promise.all(targets.map((target) => this.#refusalOf(target, { actor, home })))
    return new Map(targets.flatMap((target, index) => (found[index] === undefined ? [] : [[target, found[index]]])))
  }

  /** Why a Secret in the Pipeline's namespace must not be read for it; undefined when it may be. */
  async secretRefusal(pipeline: Pipeline, name: string): Promise<string | undefined> {
    const namespace = pipeline.metadata.namespace ?? ''
    const access = { verb: 'get', group: '', resource: 'secrets', namespace, name }
    return (await this.actorOf(pipeline).refusalOf(access))?.message
  }

  /** Who acts for a Pipeline. */
  actorOf(pipeline: Pipeline): Actor {
    return this.#ports.actAs.for(pipeline as unknown as KubeObject, { readsElsewhere: true })
  }

  #refusalOf(target: TargetPlan, who: { readonly actor: Actor; readonly home: string }): Promise<string | undefined> {
    // Adapters show parts of what they read in the status.
    if (isSecret({ ...target.app, apiVersion: 'v1' }))
      return Promise.resolve('a Secret cannot be an application: its content would show in the status')
    return target.cluster === '' ? this.#refusalHere(target, who.actor) : this.#refusalElsewhere(target.cluster, who)
  }

  async #refusalHere({ app, namespace }: TargetPlan, actor: Actor): Promise<string | undefined> {
    const type = await servedType(this.#ports.client, app)
    // A kind that is not served cannot be read either; the observer reports that.
    if (!type) return undefined
    const { group, plural: resource } = type
    return (await actor.refusalOf({ verb: 'get', group, resource, namespace, name: app.name }))?.message
  }

  /** Another cluster knows other users: what counts is whether the creator may use the credentials for it. */
  async #refusalElsewhere(
    cluster: string,
    { actor, home }: { readonly actor: Actor; readonly home: string },
  ): Promise<string | undefined> {
    const [namespace = '', name = ''] = cluster.split('/')
    if (namespace === home || namespace === sojournNamespace) return undefined
    const refers = { verb: 'get', group: gitopsCluster.group, resource: gitopsCluster.plural, namespace, name }
    const reference = await actor.refusalOf(refers)
    // Confinement holds even where that namespace grants the use.
    if (reference?.reason === 'Confined') return `clusterRef: ${reference.message}`
    // The promoter's account may list GitopsClusters, not get one.
    const only = { namespace, fieldSelector: `metadata.name=${name}` }
    const [found] = (await this.#ports.client.list<StoredObject>(gitopsCluster.type, only)).items
    const allowed = (found?.metadata.annotations?.[allowFromAnnotation] ?? '').split(',').map((each) => each.trim())
    if (!found || allowed.includes('*') || allowed.includes(home)) return undefined
    const { secretRef } = (found.spec ?? {}) as { readonly secretRef?: { readonly name?: string } }
    const access = { verb: 'get', group: '', resource: 'secrets', namespace, name: secretRef?.name ?? '' }
    const refusal = await actor.refusalOf(access)
    if (!refusal) return undefined
    return `GitopsCluster ${cluster} belongs to another namespace: annotate it with ${allowFromAnnotation}=${home} (${refusal.message})`
  }
}
