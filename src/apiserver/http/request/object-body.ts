import type { GroupVersionKind } from '../../../kube/object.ts'
import { StatusError } from '../../../kube/status-error.ts'
import { kindOfJson } from '../../schema/decode/decode-scalar.ts'
import { UnreadableBody } from './body.ts'
import { objectTypes, type BodyType, type DecodedBody, type EdgeRequest } from './edge-request.ts'

/** Decodes the body of a create or update. Bodies without a kind are taken for the expected one. */
export async function decodeObjectBody({ body }: EdgeRequest, expected: GroupVersionKind): Promise<DecodedBody> {
  const { group, version, kind } = expected
  try {
    const decoded = await body.decode({ types: objectTypes, assume: { group, version, kind } })
    return { ...decoded, value: asObject(decoded.value, decoded.type) }
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error
    const message = `the object provided is unrecognized (must be of type ${kind}): ${faultOf(error)} (${error.summary})`
    throw new StatusError('BadRequest', message, { cause: error })
  }
}

/** Decodes the DeleteOptions of a delete; undefined without a body. */
export async function decodeDeleteOptions({ body }: EdgeRequest): Promise<unknown> {
  if (body.isEmpty) return undefined
  try {
    const assume = { group: 'meta.k8s.io', version: 'v1', kind: 'DeleteOptions' }
    const { value, type } = await body.decode({ types: objectTypes, assume })
    return asObject(value, type)
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error
    throw new StatusError('BadRequest', faultOf(error), { cause: error })
  }
}

/** Decodes the body of a patch, in one of the given media types. */
export async function decodePatchBody({ body }: EdgeRequest, types: readonly BodyType[]): Promise<DecodedBody> {
  try {
    return await body.decode({ types })
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error
    const message = `${patchFaults[error.type] ?? ''}${error.message}`
    throw new StatusError('BadRequest', message, { cause: error })
  }
}

const patchFaults: Readonly<Partial<Record<BodyType, string>>> = {
  'application/apply-patch+yaml': 'error decoding YAML: error converting YAML to JSON: ',
  'application/json-patch+json': 'error decoding patch: ',
  'application/merge-patch+json': 'error decoding patch: ',
}

function faultOf({ type, message }: UnreadableBody): string {
  return type === 'application/json' ? `couldn't get version/kind; json parse error: ${message}` : message
}

/** Refuses bodies that are not objects; Go decodes `null` into an empty object. */
function asObject(value: unknown, type: BodyType): unknown {
  if (value === null || value === undefined) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value
  const summary = Buffer.from(JSON.stringify(value).slice(0, 30)).toString('hex')
  throw new UnreadableBody(`json: cannot unmarshal ${kindOfJson(value)} into Go value of type ${typeMeta}`, {
    summary,
    type,
  })
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
