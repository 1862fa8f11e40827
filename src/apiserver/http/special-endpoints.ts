import { apiVersionOf, parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { review, type ReviewPorts } from '../auth/reviews.ts'
import { issueToken, type TokenRequestPorts } from '../auth/token-request.ts'
import { decodeObject } from '../schema/decode/decode.ts'
import { builtinSchema } from '../schema/types/object-schema.ts'
import { json, type Answer } from './response/answer.ts'
import type { ResourceHandler } from './edge.ts'
import { decodeObjectBody } from './request/object-body.ts'
import { parseAccept } from './request/accept.ts'
import { notAcceptable, type ResourceCall } from './resource-endpoint.ts'

/** What reviews and token requests need. */
export interface SpecialPorts {
  readonly reviews: ReviewPorts
  readonly tokens: TokenRequestPorts
}

/** The endpoints of resources that are answered but not stored: reviews and token requests. */
export function specialEndpoints(ports: SpecialPorts): ReadonlyMap<string, ResourceHandler> {
  return new Map<string, ResourceHandler>([
    ...reviewResources.map((resource): [string, ResourceHandler] => [
      `create ${resource}`,
      async (call) => created(call, review(ports.reviews, { ...sender(call), object: await sentObject(call) })),
    ]),
    [
      'create serviceaccounts/token',
      async (call) => {
        const { namespace, name } = call.info
        return created(call, issueToken(ports.tokens, { request: await sentObject(call), namespace, name }))
      },
    ],
  ])
}

const reviewResources = [
  'selfsubjectaccessreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
]

function sender({ request, info }: ResourceCall) {
  return { user: request.user, namespace: info.namespace }
}

/** These kinds have no columns and no stored metadata: only the whole object can be answered. */
function created({ request }: ResourceCall, object: KubeObject): Answer {
  const { accept } = request.headers
  const isPlain = parseAccept(accept).some(
    ({ type, params }) => !params['as'] && /^(\*|application)\/(\*|json)$/.test(type),
  )
  if (!isPlain) throw notAcceptable(accept)
  return json(object, 201)
}

/** Decodes the body as the kind this endpoint accepts. */
async function sentObject({ request, info, type }: ResourceCall): Promise<KubeObject> {
  const expected = type.subresources.find(({ name }) => name === info.subresource) ?? type
  const { group, version, kind } = expected
  const { value } = await decodeObjectBody(request, { group, version, kind })
  const schema = builtinSchema({ group, version, kind })
  if (!schema) throw new Error(`the type table has no ${kind}`)
  // A body without apiVersion and kind gets those of the endpoint.
  const { object } = decodeObject(schema, { apiVersion: apiVersionOf(expected), kind, ...(value as object) })
  if (object.kind !== kind) {
    throw new StatusError(
      'BadRequest',
      `${object.kind} in version ${JSON.stringify(parseApiVersion(object.apiVersion).version)} cannot be handled as a ${kind}`,
    )
  }
  return object
}
