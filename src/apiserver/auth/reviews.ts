import { parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { Access } from './access.ts'
import type { Authenticator } from './authenticator.ts'
import type { PolicyRule } from './rbac-rules.ts'
import { authorize, rulesOf, type RoleSource } from './rbac.ts'
import { defaultAudience } from './service-account-tokens.ts'
import type { User } from './user.ts'
import { invalid, invalidValue, type FieldError } from '../schema/types/field-error.ts'

/** What reviews read. */
export interface ReviewPorts {
  readonly roles: RoleSource
  readonly authenticator: Authenticator
  readonly now: () => number
}

/** Answers a review of authentication.k8s.io or authorization.k8s.io: the object that was sent, with its status. */
export function review(ports: ReviewPorts, { object, user, namespace }: ReviewRequest): KubeObject {
  const spec = (object.spec ?? {}) as ReviewSpec
  switch (object.kind) {
    case 'SelfSubjectAccessReview':
      requireValid(object, attributeFaults(spec))
      return answered(object, accessStatus(ports.roles, user, spec))
    case 'SubjectAccessReview':
    case 'LocalSubjectAccessReview':
      requireValid(object, subjectFaults(spec), namespaceFaults(object, spec, namespace))
      return answered(object, accessStatus(ports.roles, subject(spec), spec))
    case 'SelfSubjectRulesReview':
      if (!spec.namespace) throw new StatusError('BadRequest', 'no namespace on request')
      return answered(object, rulesStatus(rulesOf(ports.roles, user, spec.namespace)))
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

/** A review that a user sent; `namespace` is the one in the path. */
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
  if (nonResourceAttributes) return { verb: nonResourceAttributes.verb ?? '', path: nonResourceAttributes.path ?? '' }
  const { namespace = '', verb = '', group = '', resource = '', subresource = '', name = '' } = resourceAttributes ?? {}
  return { namespace, verb, group, resource, subresource, name }
}

function subject({ user = '', groups = [], uid, extra }: ReviewSpec): User {
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) }
}

function requireValid({ apiVersion }: KubeObject, ...faults: readonly (readonly FieldError[])[]): void {
  const all = faults.flat()
  if (all.length > 0) throw invalid({ ...parseApiVersion(apiVersion), kind: '' }, '', all)
}

function attributeFaults({ resourceAttributes, nonResourceAttributes }: ReviewSpec): FieldError[] {
  const fault = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  if (resourceAttributes && nonResourceAttributes) {
    const both = 'cannot be specified in combination with resourceAttributes'
    const { path = '', verb = '' } = nonResourceAttributes
    return [invalidValue('spec.nonResourceAttributes', { Path: path, Verb: verb }, both)]
  }
  return resourceAttributes || nonResourceAttributes ? [] : [invalidValue('spec.resourceAttributes', null, fault)]
}

function subjectFaults(spec: ReviewSpec): FieldError[] {
  const hasNoSubject = !spec.user && !spec.groups?.length
  return [
    ...attributeFaults(spec),
    ...(hasNoSubject ? [invalidValue('spec.user', '', 'at least one of user or group must be specified')] : []),
  ]
}

function namespaceFaults({ kind }: KubeObject, { resourceAttributes }: ReviewSpec, namespace: string): FieldError[] {
  const asked = resourceAttributes?.namespace ?? ''
  if (kind !== 'LocalSubjectAccessReview' || asked === namespace) return []
  return [invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')]
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
  if (!token) throw new StatusError('BadRequest', 'token is required for TokenReview in authentication')
  const wanted = audiences.length > 0 ? audiences : [defaultAudience]
  const user = authenticator.byToken(token, wanted)
  if (!user) return { user: {}, error: 'invalid bearer token' }
  return { authenticated: true, user: userInfo(user), audiences: wanted }
}

/** A user as the UserInfo of authentication.k8s.io. */
export function userInfo({ name, uid, groups, extra }: User): unknown {
  return { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) }
}
