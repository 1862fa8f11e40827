import { howToGrant } from '../apis/group.ts'
import type { Client } from '../client/client.ts'
import { serviceAccounts } from '../kube/core-types.ts'
import type { KubeObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import type { AccessReviews } from './access-reviews.ts'
import { confinementFault, isRead, type Access, type Confinement } from './confinement.ts'
import { recordedCreator, type Creator } from './creator-record.ts'

/** What operators of a cluster with several tenants choose. */
export interface TenancyOptions {
  /** The ServiceAccount that acts for objects which name none. Defaults to none. */
  readonly defaultServiceAccount?: string | undefined
  /** Whether objects that name no ServiceAccount are refused. Defaults to false. */
  readonly requireServiceAccount?: boolean
  /** What becomes of objects without a recorded creator: confined to their namespace, or held. Defaults to Confine. */
  readonly withoutCreator?: 'Confine' | 'Hold'
  /** Whether objects may refer to their own namespace only, whatever their creators may do. Defaults to false. */
  readonly noCrossNamespaceRefs?: boolean
}

export interface ActAsPorts {
  readonly client: Client
  readonly reviews: AccessReviews
  /** Whether this process may itself lack rights, so that it asks for them before it changes something. Defaults to false. */
  readonly asksForOwnRights?: boolean
  /** Whether the cluster keeps the creators' records true: its admission writes them and refuses forged ones. */
  readonly provesCreators: () => boolean | Promise<boolean>
}

/** Why a controller does not do something for an object. `reason` is the condition's. */
export interface Refusal {
  readonly reason:
    | 'Confined'
    | 'CreatorForbidden'
    | 'CreatorUnknown'
    | 'ServiceAccountRequired'
    | 'ServiceAccountNotFound'
    | 'TargetForbidden'
  readonly message: string
}

/**
 * The one way in which a controller acts for an object that a tenant wrote. Every request passes confinement, then the rights of
 * the identity behind the object, then those of the controller itself: what could not be finished is not begun.
 */
export class ActAs {
  readonly #ports: ActAsPorts
  readonly #options: TenancyOptions

  constructor(ports: ActAsPorts, options: TenancyOptions = {}) {
    this.#ports = ports
    this.#options = options
  }

  /** Who acts for this object. Read it anew at each reconcile: record and options may change. */
  for(object: KubeObject, reach: Omit<Confinement, 'home' | 'isImpersonated'> = {}): Actor {
    const account = accountOf(object) ?? this.#options.defaultServiceAccount
    const namespace = object.metadata.namespace ?? ''
    const { client } = this.#ports
    const as = account && serviceAccountUser(namespace, account)
    // Kubernetes impersonates accounts that do not exist, with the rights of their groups. One lookup answers for this actor.
    let found: Promise<boolean> | undefined
    const isFound = () => (found ??= this.#hasAccount(namespace, account ?? ''))
    return {
      client: as ? client.impersonating(as.user) : client,
      refusalOf: async (access) => {
        const { noCrossNamespaceRefs: isClosed = false } = this.#options
        const open = isClosed ? { ownNamespace: reach.ownNamespace ?? false } : reach
        const fault = confinementFault(access, { ...open, home: namespace, isImpersonated: as !== undefined })
        const why = isClosed && (reach.readsElsewhere || reach.deletesElsewhere) ? ' (--no-cross-namespace-refs)' : ''
        if (fault !== undefined) return { reason: 'Confined', message: `${describeAccess(access)}: ${fault}${why}` }
        return as
          ? this.#refusalOfAccount({ account: `${namespace}/${account}`, as, isFound }, access)
          : ((await this.#refusalOfCreator(object, access)) ?? this.#refusalOfSelf(access))
      },
    }
  }

  async #refusalOfAccount(
    {
      account,
      as,
      isFound,
    }: { readonly account: string; readonly as: Creator; readonly isFound: () => Promise<boolean> },
    access: Access,
  ): Promise<Refusal | undefined> {
    if (!(await isFound()))
      return {
        reason: 'ServiceAccountNotFound',
        message: `there is no ServiceAccount ${account}: create it, or correct spec.serviceAccountName`,
      }
    return (await this.#ports.reviews.isAllowed(as, access))
      ? undefined
      : forbidden(`ServiceAccount ${account}`, access)
  }

  async #hasAccount(namespace: string, name: string): Promise<boolean> {
    if (!isAccountName(name)) return false
    const found = await this.#ports.client.get(serviceAccounts, { namespace, name }).catch(ignoring('NotFound'))
    return found !== undefined
  }

  async #refusalOfCreator(object: KubeObject, access: Access): Promise<Refusal | undefined> {
    if (this.#options.requireServiceAccount === true)
      return {
        reason: 'ServiceAccountRequired',
        message: 'spec.serviceAccountName is required in this cluster: set it',
      }
    const creator = (await this.#ports.provesCreators()) ? recordedCreator(object) : undefined
    if (!creator) return this.#refusalWithoutCreator(access, object.metadata.namespace ?? '')
    return (await this.#ports.reviews.isAllowed(creator, access))
      ? undefined
      : forbidden(`user ${JSON.stringify(creator.user)}, who last wrote its spec,`, access)
  }

  async #refusalOfSelf(access: Access): Promise<Refusal | undefined> {
    const { asksForOwnRights, reviews } = this.#ports
    if (!asksForOwnRights || isRead(access) || (await reviews.isAllowed(undefined, access))) return undefined
    const message = `Sojourn itself may not ${describeAccess(access)}: grant that right to its account (${howToGrant})`
    return { reason: 'TargetForbidden', message }
  }

  #refusalWithoutCreator(access: Access, home: string): Refusal | undefined {
    const isAtHome =
      access.namespace === home || (access.resource === 'namespaces' && access.name === home && isRead(access))
    if (this.#options.withoutCreator !== 'Hold' && isAtHome) return undefined
    return {
      reason: 'CreatorUnknown',
      message: `${describeAccess(access)}: it is not recorded who wrote the spec. Apply it again, or set spec.serviceAccountName`,
    }
  }
}

/** Gives each object its actor. A port, so that a forecast can take the creators' rights for granted. */
export type ActsFor = Pick<ActAs, 'for'>

/** What a controller uses for one object: a client, and the question to ask before each request. */
export interface Actor {
  /** Sends requests as the object's ServiceAccount, where it has one. */
  readonly client: Client
  /** Why this request must not be made; undefined when it may. Throws when that cannot be known: then nothing happens either. */
  refusalOf(access: Access): Promise<Refusal | undefined>
}

/**
 * Who acts in a Namespace for an administrator's rule. What is read there, such as a Helm release, may be any tenant's: so it is confined,
 * and creates only what a user who can write Secrets there could start anyway.
 */
export function confinedActor(client: Client, home: string, { deletesElsewhere = false } = {}): Actor {
  return {
    client,
    refusalOf: (access) => {
      const isPlain = access.verb !== 'create' || isPlainKind(access)
      const fault = isPlain
        ? confinementFault(access, { home, ownNamespace: true, deletesElsewhere })
        : 'only Pods, Jobs, ConfigMaps and Secrets are created for it'
      return Promise.resolve(
        fault === undefined ? undefined : { reason: 'Confined', message: `${describeAccess(access)}: ${fault}` },
      )
    },
  }
}

function isPlainKind({ group, resource }: Access): boolean {
  return ['/pods', '/configmaps', '/secrets', 'batch/jobs'].includes(`${group}/${resource}`)
}

/** The ServiceAccount that an object names, if any. Only the spec does: admission checks that its author may use it. */
export function accountOf({ spec }: KubeObject): string | undefined {
  const named = (spec as { readonly serviceAccountName?: unknown } | undefined)?.serviceAccountName
  return typeof named === 'string' && named !== '' ? named : undefined
}

/** A ServiceAccount as the API server authenticates it. */
function serviceAccountUser(namespace: string, name: string): Creator {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
}

/** Anything else in the field could name an account of another namespace. */
function isAccountName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && name.length <= 253
}

function forbidden(who: string, access: Access): Refusal {
  return {
    reason: 'CreatorForbidden',
    message: `${who} may not ${describeAccess(access)}: grant that right, or have a user with it apply the object again`,
  }
}

/** `delete configmaps "settings" in namespace team`. */
function describeAccess({ verb, group, resource, subresource, namespace, name }: Access): string {
  const what = `${resource}${group ? `.${group}` : ''}${subresource ? `/${subresource}` : ''}`
  return `${verb} ${what}${name ? ` "${name}"` : ''}${namespace ? ` in namespace ${namespace}` : ''}`
}
