import type { KubeObject } from '../kube/object.ts'
import { parseApiVersion } from '../kube/object.ts'
import type { StatusError } from '../kube/status-error.ts'
import type { Route, RouteResponse } from '../runtime/http/route.ts'
import { checks, invalid } from './admission.ts'

/** The fields of an AdmissionReview request that the webhook reads. */
interface AdmissionRequest {
  readonly uid: string
  readonly operation?: string
  readonly subResource?: string
  readonly object?: KubeObject | null
  readonly oldObject?: KubeObject | null
}

const apiVersion = 'admission.k8s.io/v1'

/** The path that the webhook configuration names. */
export const validatePath = '/sojourn/v1alpha1/validate'

/** Answers an AdmissionReview by the same checks as the embedded server. API servers call webhooks without a token. */
export const validateRoute: Route = {
  method: 'POST',
  path: validatePath,
  authenticated: false,
  handle: ({ body }) => Promise.resolve(answer(body)),
}

function answer(body: string): RouteResponse {
  const request = requestIn(body)
  if (typeof request === 'string') return { status: 400, body: { message: request } }
  const refusal = refusalOf(request)
  const status = refusal && {
    code: refusal.code,
    reason: refusal.reason,
    message: refusal.message,
    ...(refusal.details ? { details: refusal.details } : {}),
  }
  return {
    status: 200,
    body: {
      apiVersion,
      kind: 'AdmissionReview',
      response: { uid: request.uid, allowed: !refusal, ...(status ? { status } : {}) },
    },
  }
}

/** Why an object is refused; undefined when it is valid, or not one of Sojourn's kinds. */
function refusalOf({ operation, subResource = '', object, oldObject }: AdmissionRequest): StatusError | undefined {
  if (operation === 'DELETE' || subResource !== '' || !object) return undefined
  const { group } = parseApiVersion(object.apiVersion)
  const check = checks[`${object.kind}.${group}`]
  // A stored object may be labelled, finalized and deleted even if its spec would be refused today.
  if (!check || (oldObject && JSON.stringify(oldObject.spec) === JSON.stringify(object.spec))) return undefined
  const problems = check(object)
  return problems.length > 0 ? invalid({ kind: object.kind, group }, object.metadata.name ?? '', problems) : undefined
}

function requestIn(body: string): AdmissionRequest | string {
  let review: { readonly apiVersion?: unknown; readonly request?: Partial<AdmissionRequest> | null } | null
  try {
    review = JSON.parse(body) as typeof review
  } catch {
    return 'the body must be JSON'
  }
  if (review?.apiVersion !== apiVersion) return `the body must be an AdmissionReview in ${apiVersion}`
  const { request } = review
  if (typeof request?.uid !== 'string' || request.uid === '') return 'request.uid is missing'
  const { object } = request
  if (object && (typeof object.apiVersion !== 'string' || typeof object.kind !== 'string' || !object.metadata))
    return 'request.object is not an object of the API'
  return request as AdmissionRequest
}
