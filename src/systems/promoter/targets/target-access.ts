import { gitopsCluster } from '../../../apis/gitops-cluster.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { Client } from '../../../client/client.ts'
import { type KubeObject, type StoredObject, parseApiVersion, type ResourceType } from '../../../kube/object.ts'
import { isSecret } from '../../../kube/redact.ts'
import type { Actor, ActsFor } from '../../../tenancy/act-as.ts'
import type { Plan, TargetPlan } from '../model/plan.ts'
import { secrets } from '../../../kube/core-types.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import type { SecretData } from '../repository/repository-access.ts'

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

/**
 * The kind of an application in the version asked for or, as versions go out of service, in the one that the cluster prefers. What is
 * read and what rights are checked for must be the same, so both ask here.
 */
export async function servedType(
  { discovery }: Client,
  app: { readonly apiVersion: string; readonly kind: string },
): Promise<ResourceType | undefined> {
  const { group } = parseApiVersion(app.apiVersion)
  return (await discovery.typeOf(app)) ?? (group ? discovery.find(`${app.kind}.${group}`) : undefined)
}

interface SecretPorts {
  readonly informers: Informers
  readonly client: Client
  readonly onChange: (pipeline: string) => void
}

/** Follows the versions of Secrets whose change retries a failed promotion. Keeps metadata only, never content. */
export class SecretVersions {
  readonly #ports: SecretPorts
  /** One informer per Secret, by pipeline and Secret name. */
  readonly #uses = new Map<string, Map<string, Informer>>()

  constructor(ports: SecretPorts) {
    this.#ports = ports
  }

  /** Follows exactly these Secrets for a pipeline. */
  follow(pipeline: string, namespace: string, names: ReadonlySet<string>): void {
    const uses = this.#uses.get(pipeline) ?? new Map<string, Informer>()
    for (const [name, informer] of uses) {
      if (names.has(name)) continue
      informer.close()
      uses.delete(name)
    }
    for (const name of names) {
      if (uses.has(name)) continue
      const informer = this.#ports.informers.open(this.#ports.client, secrets, {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        metadataOnly: true,
      })
      informer.subscribe(() => this.#ports.onChange(pipeline))
      uses.set(name, informer)
    }
    if (uses.size > 0) this.#uses.set(pipeline, uses)
    else this.#uses.delete(pipeline)
  }

  /** The resourceVersion of a followed Secret; '' while it is unknown or does not exist. */
  versionOf(pipeline: string, namespace: string, name: string): string {
    return this.#uses.get(pipeline)?.get(name)?.get(namespace, name)?.metadata.resourceVersion ?? ''
  }

  close(): void {
    for (const uses of this.#uses.values()) for (const informer of uses.values()) informer.close()
    this.#uses.clear()
  }
}

/** Reads and decodes a Secret; undefined when it does not exist. Called for each effect, so that nothing is cached. */
export async function readSecret(
  client: Client,
  place: { readonly namespace: string; readonly name: string },
): Promise<SecretData | undefined> {
  const secret = await client
    .get<StoredObject & { readonly data?: Record<string, string> }>(secrets, place)
    .catch(ignoring('NotFound'))
  if (!secret) return undefined
  const entries = Object.entries(secret.data ?? {})
  return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')]))
}
