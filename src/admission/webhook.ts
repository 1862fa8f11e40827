import { jsonIn } from '../kube/basics/json.ts'
import type { Discovery } from '../client/discovery.ts'
import { parseApiVersion, type KubeObject } from '../kube/object.ts'
import { isStatusError, type StatusError } from '../kube/status-error.ts'
import type { Route, RouteResponse } from '../runtime/http/route.ts'
import { recordWriter } from '../tenancy/creator-record.ts'
import { refusalOf } from './admission.ts'
import type { EnvironmentAdmission } from './environment-admission.ts'
import { referredKinds, warningAbout } from './unknown-kinds.ts'

/** The fields of an AdmissionReview request that the webhook reads. */
interface AdmissionRequest {
  readonly uid: string
  readonly operation?: string
  readonly kind?: { readonly group: string; readonly kind: string }
  readonly resource?: { readonly group: string; readonly resource: string }
  readonly subResource?: string
  readonly namespace?: string
  readonly name?: string
  readonly dryRun?: boolean
  readonly object?: KubeObject | null
  readonly oldObject?: KubeObject | null
  readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[] }
}

const apiVersion = 'admission.k8s.io/v1'

/** The path that the webhook configuration names. */
export const validatePath = '/sojourn/v1alpha1/validate'

/** What the answers of the webhook depend on. */
export interface ValidatePorts {
  readonly discovery: Pick<Discovery, 'typeOf' | 'forget'>
  readonly environments?: Pick<EnvironmentAdmission, 'validate'>
  /** Whether callers need a token that may post to the path. Defaults to false: API servers send one only where they are configured to. */
  readonly needsToken?: boolean
}

/** Answers an AdmissionReview by the same checks as the embedded server. */
export function validateRoute(ports: ValidatePorts): Route {
  return {
    method: 'POST',
    path: validatePath,
    authenticated: ports.needsToken ?? false,
    handle: ({ body }) => answer(body, (request) => validity(request, ports)),
  }
}

/** Where a cluster without MutatingAdmissionPolicies has the creator of an object recorded. */
export const recordCreatorPath = '/sojourn/v1alpha1/record-creator'

/** Writes into an object who writes its spec. The policy sojourn-creator then refuses every other record. */
export const recordCreatorRoute: Route = {
  method: 'POST',
  path: recordCreatorPath,
  authenticated: false,
  handle: ({ body }) => answer(body, recordPatch),
}

async function answer(
  body: string,
  judge: (request: AdmissionRequest) => object | Promise<object>,
): Promise<RouteResponse> {
  const request = requestIn(body)
  if (typeof request === 'string') return { status: 400, body: { message: request } }
  const response = { uid: request.uid, allowed: true, ...(await judge(request)) }
  return { status: 200, body: { apiVersion, kind: 'AdmissionReview', response } }
}

async function validity(request: AdmissionRequest, { discovery, environments }: ValidatePorts): Promise<object> {
  const refusal = specRefusal(request) ?? limitRefusal(request, environments)
  if (!refusal) return { warnings: await warningsFor(request, discovery) }
  const { code, reason, message, details } = refusal
  return { allowed: false, status: { code, reason, message, ...(details ? { details } : {}) } }
}

/** Why a class has no room for one more environment. */
function limitRefusal(
  { operation = '', kind, resource, subResource = '', namespace = '', name = '', ...request }: AdmissionRequest,
  environments: ValidatePorts['environments'],
): StatusError | undefined {
  const type = { group: resource?.group ?? '', plural: resource?.resource ?? '', kind: kind?.kind ?? '' }
  const object = request.object ?? undefined
  const rest = { object, old: request.oldObject ?? undefined, isDryRun: request.dryRun ?? false }
  try {
    environments?.validate({ operation, type, subresource: subResource, namespace, name, ...rest })
  } catch (error) {
    if (isStatusError(error)) return error
    throw error
  }
  return undefined
}

async function warningsFor(
  { operation, subResource = '', object }: AdmissionRequest,
  discovery: Pick<Discovery, 'typeOf' | 'forget'>,
): Promise<readonly string[]> {
  if (operation === 'DELETE' || subResource !== '' || !object) return []
  const warnings: string[] = []
  for (const reference of referredKinds(object)) {
    const isServed = async () => (await discovery.typeOf(reference)) !== undefined
    // What is not known may have been defined since it was last asked. An unanswered question is no warning.
    if (await isServed().catch(() => true)) continue
    discovery.forget(reference.apiVersion)
    if (!(await isServed().catch(() => true))) warnings.push(warningAbout(reference))
  }
  return warnings
}

function recordPatch({ operation, subResource = '', object, oldObject, userInfo }: AdmissionRequest): object {
  const { username = '', groups = [] } = userInfo ?? {}
  if (operation === 'DELETE' || subResource !== '' || !object || username === '') return {}
  const { annotations } = recordWriter(object, oldObject ?? undefined, { user: username, groups }).metadata
  const patch = [{ op: 'add', path: '/metadata/annotations', value: annotations ?? {} }]
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
}

/** Why an object of Sojourn's kinds is refused. */
function specRefusal({ operation, subResource = '', object, oldObject }: AdmissionRequest): StatusError | undefined {
  if (operation === 'DELETE' || subResource !== '' || !object) return undefined
  const { group } = parseApiVersion(object.apiVersion)
  return refusalOf({ kind: object.kind, group }, object, oldObject ?? undefined)
}

function requestIn(body: string): AdmissionRequest | string {
  const review = jsonIn(body) as
    | { readonly apiVersion?: unknown; readonly request?: Partial<AdmissionRequest> | null }
    | null
    | undefined
  if (review === undefined) return 'the body must be JSON'
  if (review?.apiVersion !== apiVersion) return `the body must be an AdmissionReview in ${apiVersion}`
  const { request } = review
  if (typeof request?.uid !== 'string' || request.uid === '') return 'request.uid is missing'
  const { object, operation } = request
  // The options of a connection to a Pod have no metadata.
  if (
    object &&
    operation !== 'CONNECT' &&
    (typeof object.apiVersion !== 'string' || typeof object.kind !== 'string' || !object.metadata)
  )
    return 'request.object is not an object of the API'
  return request as AdmissionRequest
}
