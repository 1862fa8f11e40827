import { notFound, StatusError } from '../../kube/status-error.ts'
import { parseDuration } from '../../kube/time.ts'
import { forbidden, type Access } from '../auth/access.ts'
import type { Verdict } from '../auth/rbac.ts'
import type { Kinds } from '../kinds/kinds.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'
import type { User } from '../objects/contract/request.ts'
import { failure, text, type Answer } from './response/answer.ts'
import type { EdgeRequest } from './request/edge-request.ts'
import { negotiateEncoding } from './request/accept.ts'
import { applyImpersonation } from './request/impersonation.ts'
import { requestInfo, selectedName, type RequestInfo, type ResourceRequest } from './request/request-info.ts'
import { serveResource, type ResourceCall, type ResourcePorts } from './resource-endpoint.ts'

/** Serves a verb of a resource or subresource that is computed, not stored: reviews, tokens, logs. */
export type ResourceHandler = (call: ResourceCall) => Promise<Answer> | Answer

/** Serves paths outside the resource API; undefined for a path it does not know. */
export type PathHandler = (request: EdgeRequest, path: string) => Promise<Answer | undefined> | Answer | undefined

/** What request handling needs. */
export interface EdgePorts extends ResourcePorts {
  readonly kinds: Kinds
  authorize(user: User, access: Access): Verdict
  /** The access that a delete with a `cascadeRecord` needs besides the delete itself; undefined: no check. */
  readonly cascadeRecordAccess: ((record: string) => Access) | undefined
  /** By `VERB RESOURCE.GROUP[/SUBRESOURCE]`, as in `create serviceaccounts/token`. */
  readonly handlers: ReadonlyMap<string, ResourceHandler>
  readonly paths: readonly PathHandler[]
  /** Called with errors that are not a StatusError, that is, bugs of the server. */
  onInternalError(error: unknown, request: EdgeRequest): void
}

/**
 * Handles a request whose sender is authenticated: impersonation, authorization, routing. Never throws: every failure
 * is an answer with a Status.
 */
export class Edge {
  readonly #ports: EdgePorts

  constructor(ports: EdgePorts) {
    this.#ports = ports
  }

  async handle(request: EdgeRequest): Promise<Answer> {
    const answer = await this.#answer(request)
    const encoding = negotiateEncoding(request)
    return encoding ? { ...answer, encoding } : answer
  }

  async #answer(request: EdgeRequest): Promise<Answer> {
    try {
      return await this.#serve(request)
    } catch (error) {
      if (error instanceof StatusError) return failure(error)
      this.#ports.onInternalError(error, request)
      return failure(new StatusError('InternalError', 'Internal error occurred: unexpected failure'))
    }
  }

  /** Authorization comes before routing, so that a denied user cannot find out which resources exist. */
  async #serve(sent: EdgeRequest): Promise<Answer> {
    const info = requestInfo(sent.method, sent.path, sent.query)
    if (!info) throw sent.method === 'GET' ? noSuchResource() : methodNotAllowed()
    requireTimeout(sent, info)
    const request = this.#impersonate(sent, info)
    this.#requireAccess(request.user, accessOf(info, request))
    const { cascadeRecord } = request.query
    const recordAccess = cascadeRecord === undefined ? undefined : this.#ports.cascadeRecordAccess?.(cascadeRecord)
    if (recordAccess) this.#requireAccess(request.user, recordAccess)
    return info.kind === 'path' ? this.#servePath(request, info.path) : this.#serveResource(request, info)
  }

  #impersonate(sent: EdgeRequest, info: RequestInfo): EdgeRequest {
    return applyImpersonation(sent, {
      isAllowed: (access) => this.#ports.authorize(sent.user, access).allowed,
      wanted: accessOf(info, sent),
    })
  }

  #requireAccess(user: User, access: Access): void {
    const { allowed, reason } = this.#ports.authorize(user, access)
    if (!allowed) throw forbidden(user, access, reason)
  }

  async #servePath(request: EdgeRequest, path: string): Promise<Answer> {
    for (const handler of this.#ports.paths) {
      const answer = await handler(request, path)
      if (answer) return answer
    }
    return pageNotFound()
  }

  async #serveResource(request: EdgeRequest, info: ResourceRequest): Promise<Answer> {
    const { kinds, handlers } = this.#ports
    const type = kinds.find({ group: info.group, version: info.version, plural: info.resource })
    if (!type) return this.#unknownResource(info)
    requireScope(type, info)
    const call: ResourceCall = { request, info, type }
    const handler = handlers.get(handlerKey(type, info))
    if (handler) return handler(call)
    requireVerb(type, info)
    const answer = await serveResource(this.#ports, call)
    const deprecation = type.custom ? type.custom.deprecationWarning : deprecatedKinds[type.resource]
    return deprecation ? { ...answer, warnings: [deprecation, ...(answer.warnings ?? [])] } : answer
  }

  /** As kube-apiserver: a Status for an unknown resource of a built-in group, plain text for an unknown group. */
  #unknownResource({ group }: ResourceRequest): Answer {
    if (this.#ports.kinds.all().some((kind) => kind.group === group && !kind.custom)) throw noSuchResource()
    return pageNotFound()
  }
}

/** The 404 for a path that nothing serves. */
export function noSuchResource(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', { details: {} })
}

function methodNotAllowed(): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  })
}

function accessOf(info: RequestInfo, { query }: EdgeRequest): Access {
  if (info.kind === 'path') return { verb: info.verb, path: info.path }
  const { verb, group, resource, subresource, namespace } = info
  return { verb, group, resource, subresource, namespace, name: selectedName(info, query) }
}

const deprecatedKinds: Readonly<Record<string, string>> = {
  endpoints: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
}

function handlerKey({ resource }: ServedKind, { verb, subresource }: ResourceRequest): string {
  return `${verb} ${resource}${subresource ? `/${subresource}` : ''}`
}

/** Cluster-scoped kinds have no namespace; namespaced ones need one for everything but lists and watches. */
function requireScope(type: ServedKind, { namespace, name, verb, resource }: ResourceRequest): void {
  if (!type.namespaced) {
    if (namespace !== '' && resource !== 'namespaces') throw noSuchResource()
    return
  }
  if (namespace !== '') return
  if (name !== '') throw noSuchResource()
  if (verb !== 'list' && verb !== 'watch') throw methodNotAllowed()
}

/** Validates the `timeout` parameter as kube-apiserver does. No request here runs long enough to need it. */
function requireTimeout({ query }: EdgeRequest, info: RequestInfo): void {
  const timeout = query['timeout']
  if (!timeout || (info.kind === 'resource' && info.verb === 'watch')) return
  if (parseDuration(timeout) === undefined) {
    throw new StatusError(
      'BadRequest',
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(timeout)}`,
    )
  }
}

function pageNotFound(): Answer {
  return text('404 page not found\n', 404)
}

function requireVerb(type: ServedKind, { verb, subresource, name }: ResourceRequest): void {
  if (!subresource) {
    if (!type.verbs.includes(verb)) throw methodNotAllowed()
    return
  }
  const found = type.subresources.find(({ name }) => name === subresource)
  if (!found) throw type.custom ? notFound(type, name) : noSuchResource()
  if (!found.verbs.includes(verb)) throw methodNotAllowed()
}
