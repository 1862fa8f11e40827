import type { KubeObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import type { Access } from './access.ts'
import type { Authenticator } from './authenticator.ts'
import type { PolicyRule } from './rbac-rules.ts'
import { authorize, rulesOf, type RoleSource } from './rbac.ts'
import { defaultAudience } from './service-account-tokens.ts'
import type { User } from './user.ts'
import { StatusError } from '../../kube/status-error.ts'

/** What the reviews answer from. */
export interface ReviewPorts {
  readonly roles: RoleSource
  readonly authenticator: Authenticator
  now(): number
}

/** Answers a review: the object that was sent, with its status. `namespace` is the one in the path. */
export function review(ports: ReviewPorts, { object, user, namespace }: ReviewRequest): KubeObject {
  const spec = (object.spec ?? {}) as ReviewSpec
  switch (object.kind) {
    case 'SelfSubjectAccessReview':
      return answered(object, accessStatus(ports.roles, user, spec))
    case 'SubjectAccessReview':
      return answered(object, accessStatus(ports.roles, subject(spec), spec))
    case 'LocalSubjectAccessReview':
      requireNamespace(spec, namespace)
      return answered(object, accessStatus(ports.roles, subject(spec), spec))
    case 'SelfSubjectRulesReview':
      return answered(object, rulesStatus(rulesOf(ports.roles, user, spec.namespace ?? '')))
    case 'SelfSubjectReview':
      return {
        ...object,
        metadata: { ...object.metadata, creationTimestamp: formatTime(ports.now()) },
        status: { userInfo: userInfo(user) },
      }
    case 'TokenReview':
      return answered(object, tokenStatus(ports.authenticator, spec))
    default:
      throw new Error(`${object.kind} is not a review`)
  }
}

export interface ReviewRequest {
  readonly object: KubeObject
  readonly user: User
  readonly namespace: string
}

interface ReviewSpec {
  readonly resourceAttributes?: {
    readonly namespace?: string
    readonly verb?: string
    readonly group?: string
    readonly resource?: string
    readonly subresource?: string
    readonly name?: string
  }
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string }
  readonly user?: string
  readonly groups?: readonly string[]
  readonly uid?: string
  readonly extra?: Readonly<Record<string, readonly string[]>>
  readonly namespace?: string
  readonly token?: string
  readonly audiences?: readonly string[]
}

function answered(object: KubeObject, status: unknown): KubeObject {
  return { ...object, status }
}

function accessStatus(roles: RoleSource, user: User, spec: ReviewSpec): unknown {
  const { allowed, reason } = authorize(roles, user, accessOf(spec))
  return { allowed, ...(reason ? { reason } : {}) }
}

function accessOf({ resourceAttributes, nonResourceAttributes }: ReviewSpec): Access {
  if (resourceAttributes && nonResourceAttributes) {
    throw new StatusError('Invalid', 'exactly one of nonResourceAttributes or resourceAttributes must be specified')
  }
  if (nonResourceAttributes) return { verb: nonResourceAttributes.verb ?? '', path: nonResourceAttributes.path ?? '' }
  if (!resourceAttributes) {
    throw new StatusError('Invalid', 'exactly one of nonResourceAttributes or resourceAttributes must be specified')
  }
  const { namespace = '', verb = '', group = '', resource = '', subresource = '', name = '' } = resourceAttributes
  return { namespace, verb, group, resource, subresource, name }
}

function subject({ user = '', groups = [], uid, extra }: ReviewSpec): User {
  if (!user && groups.length === 0) {
    throw new StatusError('Invalid', 'spec.user: Invalid value: "": at least one of user or group must be specified')
  }
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) }
}

function requireNamespace({ resourceAttributes }: ReviewSpec, namespace: string): void {
  if (resourceAttributes?.namespace !== namespace) {
    throw new StatusError('BadRequest', `spec.resourceAttributes.namespace must match namespace: ${namespace}`)
  }
}

function rulesStatus(rules: readonly PolicyRule[]): unknown {
  const resourceRules = rules.filter(({ resources }) => resources?.length)
  const nonResourceRules = rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length)
  return {
    resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
      verbs,
      apiGroups,
      resources,
      ...(resourceNames?.length ? { resourceNames } : {}),
    })),
    nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  }
}

function tokenStatus(authenticator: Authenticator, { token = '', audiences = [] }: ReviewSpec): unknown {
  const wanted = audiences.length > 0 ? audiences : [defaultAudience]
  const user = token ? authenticator.byToken(token, wanted) : undefined
  if (!user) return { user: {}, error: '[invalid bearer token, token lookup failed]' }
  return { authenticated: true, user: userInfo(user), audiences: wanted }
}

/** A user in the form of authentication.k8s.io. */
export function userInfo({ name, uid, groups, extra }: User): unknown {
  return { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) }
}
