import { isRecord } from '../../../kube/basics/json.ts'
import { invalid, invalidValue, unsupported, type FieldError } from '../../schema/types/field-error.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { decodeObject } from '../../schema/decode/decode.ts'
import { builtinSchema } from '../../schema/types/object-schema.ts'
import { parseFlag } from './list-options.ts'
import { badRequest, notRegistered } from './failures.ts'
import type { DeleteQuery } from './request.ts'
import { dryRunErrors } from './write-options.ts'

/** The propagation policy of a delete. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** The options of a delete, validated. */
export interface DeleteOptions {
  readonly graceSeconds: number | undefined
  readonly propagation: Propagation | undefined
  /** Whether the request set `orphanDependents: false`: old clients expect a 202 for it. */
  readonly isLegacy: boolean
  readonly isDryRun: boolean
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  /** `namespace/name` of the record of the cascade that this delete belongs to. */
  readonly cascadeRecord: string | undefined
}

/** DeleteOptions as clients send them. */
interface SentDeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly orphanDependents?: boolean
  readonly propagationPolicy?: string
  readonly dryRun?: readonly string[]
}

const policies = ['Foreground', 'Background', 'Orphan']

/**
 * Reads DeleteOptions from the body or, without one, from the query. Throws Invalid or BadRequest as kube-apiserver
 * does.
 */
export function parseDeleteOptions({ body, query = {} }: { body?: unknown; query?: DeleteQuery }): DeleteOptions {
  const options = body === undefined || body === null ? fromQuery(query) : fromBody(body)
  const { gracePeriodSeconds: grace, preconditions = {}, orphanDependents, propagationPolicy, dryRun = [] } = options
  const errors = [...policyErrors(options), ...dryRunErrors(dryRun)]
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors)
  const legacy = orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background'
  return {
    graceSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    propagation: (propagationPolicy || legacy) as Propagation | undefined,
    isLegacy: orphanDependents === false,
    isDryRun: dryRun.length > 0,
    uid: preconditions.uid,
    resourceVersion: preconditions.resourceVersion,
    cascadeRecord: query.cascadeRecord,
  }
}

function* policyErrors({ orphanDependents, propagationPolicy }: SentDeleteOptions): Generator<FieldError> {
  if (orphanDependents !== undefined && propagationPolicy !== undefined)
    yield invalidValue(
      'propagationPolicy',
      propagationPolicy,
      'orphanDependents and deletionPropagation cannot be both set',
    )
  if (propagationPolicy && !policies.includes(propagationPolicy))
    yield unsupported('propagationPolicy', propagationPolicy, [...policies, 'nil'])
}

function fromBody(body: unknown): SentDeleteOptions {
  const kind = { group: '', version: 'v1', kind: 'DeleteOptions' }
  const schema = builtinSchema(kind)
  if (!schema) throw new Error('no type for DeleteOptions')
  if (!isRecord(body)) throw badRequest('the body of a delete must be DeleteOptions')
  const { kind: given, apiVersion = 'v1' } = body
  if (typeof given === 'string' && given !== '' && given !== 'DeleteOptions')
    throw badRequest(notRegistered(given, String(apiVersion)))
  try {
    return decodeObject(schema, body).object as unknown as SentDeleteOptions
  } catch (error) {
    if (!isStatusError(error, 'BadRequest')) throw error
    throw badRequest(error.message.slice(error.message.indexOf('json: ')))
  }
}

function fromQuery({
  gracePeriodSeconds,
  propagationPolicy,
  orphanDependents,
  dryRun = [],
}: DeleteQuery): SentDeleteOptions {
  if (gracePeriodSeconds !== undefined && !/^-?\d{1,15}$/.test(gracePeriodSeconds))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(gracePeriodSeconds)}: invalid syntax`)
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: Number(gracePeriodSeconds) }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(orphanDependents === undefined ? {} : { orphanDependents: parseFlag(orphanDependents) }),
    dryRun,
  }
}
