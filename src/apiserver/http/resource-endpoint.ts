import { patchContentType, type PatchType } from '../../kube/patches/patch.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'
import type { Objects } from '../objects/objects.ts'
import type { DeleteResult, WriteResult } from '../objects/contract/request.ts'
import { negotiateEncoding, negotiateForm, parseAccept } from './request/accept.ts'
import type { Answer } from './response/answer.ts'
import type { BodyType, EdgeRequest } from './request/edge-request.ts'
import { decodeDeleteOptions, decodeObjectBody, decodePatchBody } from './request/object-body.ts'
import {
  metadataPresentation,
  plainPresentation,
  tablePresentation,
  type Columns,
  type IncludeObject,
  type Presentation,
} from './response/presentation.ts'
import { isTrue, type ResourceRequest } from './request/request-info.ts'

/** A request for a served kind. */
export interface ResourceCall {
  readonly request: EdgeRequest
  readonly info: ResourceRequest
  readonly type: ServedKind
}

/** What serving stored objects needs. */
export interface ResourcePorts {
  readonly objects: Objects
  columnsOf(type: ServedKind, subresource: string): Columns
}

/** Serves a request for stored objects: calls `Objects` and turns the result into an answer. */
export async function serveResource(ports: ResourcePorts, call: ResourceCall): Promise<Answer> {
  const { objects } = ports
  const { info } = call
  const as = presentation(ports, call)
  switch (info.verb) {
    case 'get':
      return { status: 200, content: { is: 'object', document: await objects.get(named(call)), as } }
    case 'list':
      return { status: 200, content: { is: 'list', list: await objects.list(selection(call)), as } }
    case 'watch':
      // Events cannot be told apart in a stream of YAML.
      if (negotiateEncoding(call.request) === 'yaml') throw notAcceptable('application/json')
      return { status: 200, content: { is: 'watch', open: (sink) => objects.watch(selection(call), sink), as } }
    case 'create':
      return written(
        await objects.create({ ...location(call), ...writeOptions(call), ...(await objectBody(call)) }),
        as,
      )
    case 'update':
      return written(await objects.update({ ...named(call), ...writeOptions(call), ...(await objectBody(call)) }), as)
    case 'patch':
      return written(
        await objects.patch({ ...named(call), ...writeOptions(call), ...(await patchBody(ports, call)) }),
        as,
      )
    case 'delete':
      return deleted(await objects.delete({ ...named(call), ...(await deleteOptions(call)) }), as)
    case 'deletecollection': {
      const list = await objects.deleteCollection({ ...selection(call), ...(await deleteOptions(call)) })
      return { status: 200, content: { is: 'list', list, as } }
    }
    default:
      throw new Error(`no endpoint for ${info.verb}`)
  }
}

function written({ document, created, warnings }: WriteResult, as: Presentation): Answer {
  return { status: created ? 201 : 200, warnings, content: { is: 'object', document, as } }
}

function deleted({ code, document, status, warnings }: DeleteResult, as: Presentation): Answer {
  if (document) return { status: code, warnings, content: { is: 'object', document, as } }
  // The Status of a successful delete has no `code` field, unlike that of a failure.
  return { status: code, warnings, content: { is: 'json', value: status && { ...status, code: undefined } } }
}

function location({ request, info, type }: ResourceCall) {
  return {
    type,
    user: request.user,
    ...(type.namespaced && info.namespace ? { namespace: info.namespace } : {}),
    ...(info.name ? { name: info.name } : {}),
    ...(info.subresource ? { subresource: info.subresource } : {}),
  }
}

function named(call: ResourceCall) {
  const { resourceVersion } = call.request.query
  return { ...location(call), name: call.info.name, ...(resourceVersion ? { resourceVersion } : {}) }
}

function selection(call: ResourceCall) {
  const { query } = call.request
  return { ...location(call), ...pick(query, selectionParameters), ...nameAsSelector(call) }
}

const selectionParameters = [
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'timeoutSeconds',
] as const

/** A watch of `RESOURCE/NAME` selects that object by field selector. */
function nameAsSelector({ info, request }: ResourceCall): { fieldSelector?: string } {
  if (!info.name) return {}
  const given = request.query['fieldSelector']
  return { fieldSelector: `metadata.name=${info.name}${given ? `,${given}` : ''}` }
}

function writeOptions({ request }: ResourceCall) {
  const userAgent = request.headers['user-agent']
  return {
    ...pick(request.query, ['fieldManager', 'fieldValidation'] as const),
    ...(request.dryRun.length > 0 ? { dryRun: request.dryRun } : {}),
    ...(userAgent ? { userAgent } : {}),
  }
}

async function deleteOptions({ request }: ResourceCall) {
  const { query, dryRun } = request
  const body = await decodeDeleteOptions(request)
  return {
    ...(body === undefined ? {} : { body }),
    query: {
      ...pick(query, ['gracePeriodSeconds', 'propagationPolicy', 'orphanDependents', 'cascadeRecord'] as const),
      ...(dryRun.length > 0 ? { dryRun } : {}),
    },
  }
}

async function objectBody({ request, info, type }: ResourceCall) {
  const expected = type.subresources.find(({ name }) => name === info.subresource) ?? type
  const { value, duplicates } = await decodeObjectBody(request, expected)
  return { body: value, duplicates }
}

async function patchBody({ objects }: ResourcePorts, call: ResourceCall) {
  const { request, type } = call
  const patchTypes: readonly PatchType[] = type.custom
    ? ['json', 'merge', 'apply']
    : ['json', 'merge', 'strategic', 'apply']
  const patchType = patchTypes.find((candidate) => patchContentType[candidate] === request.body.mediaType)
  if (!patchType && !type.custom) {
    throw new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', { details: {} })
  }
  const types = patchTypes.map((candidate) => patchContentType[candidate] as BodyType)
  const body = await decodePatchOrNotFound(call, objects, types)
  const { force } = request.query
  return {
    body: body.value,
    duplicates: body.duplicates,
    patchType: patchType ?? 'merge',
    ...(force === undefined ? {} : { force: isTrue(force) }),
  }
}

/**
 * A malformed patch of a missing object gets 404, as in kube-apiserver: it looks the object up first, except for
 * apply.
 */
async function decodePatchOrNotFound(call: ResourceCall, objects: Objects, types: readonly BodyType[]) {
  try {
    return await decodePatchBody(call.request, types)
  } catch (error) {
    const isApply = call.request.body.mediaType === patchContentType.apply
    if (!isApply && isStatusError(error, 'BadRequest')) await objects.get(named(call))
    throw error
  }
}

function presentation(ports: ResourcePorts, { request, info, type }: ResourceCall): Presentation {
  const form = negotiateForm(request.headers['accept'], type.custom !== undefined)
  if (!form) throw notAcceptable(request.headers['accept'])
  const { as, version } = form
  switch (as) {
    case 'Object':
      return plainPresentation(type)
    case 'PartialObjectMetadata':
      return metadataPresentation(version)
    case 'Table': {
      const includeObject = includeObjectOf(request.query['includeObject'])
      return tablePresentation({ version, columns: ports.columnsOf(type, info.subresource), includeObject })
    }
  }
}

function includeObjectOf(value: string | undefined): IncludeObject {
  switch (value) {
    case undefined:
    case '':
    case 'Metadata':
      return 'Metadata'
    case 'None':
    case 'Object':
      return value
    default:
      throw new StatusError(
        'BadRequest',
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
      )
  }
}

/** The 406 for an Accept header that names no form the resource has. */
export function notAcceptable(accept: string | undefined): StatusError {
  const isJson = parseAccept(accept).some(({ type }) => type === 'application/json')
  return isJson
    ? new StatusError('NotAcceptable', 'only the following media types are accepted: application/json')
    : new StatusError(
        'NotAcceptable',
        '406: Not Acceptable\n\nAvailable representations: application/json, application/json;stream=watch',
        { details: {} },
      )
}

function pick<K extends string>(
  query: Readonly<Record<string, string>>,
  names: readonly K[],
): { readonly [name in K]?: string } {
  const picked: { [name in K]?: string } = {}
  for (const name of names) {
    const value = query[name]
    if (value !== undefined && value !== '') picked[name] = value
  }
  return picked
}
