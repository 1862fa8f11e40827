import { StatusError } from '../../../kube/status-error.ts'

/** A request for a resource, taken apart. Which resource it is, and whether it exists, is not looked up here. */
export interface ResourceRequest {
  readonly kind: 'resource'
  /** get list watch create update patch delete deletecollection. */
  readonly verb: string
  readonly group: string
  readonly version: string
  /** '' at the cluster scope and for all namespaces. A Namespace is in itself. */
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  /** '' for a collection. */
  readonly name: string
}

/** A request for anything else: discovery, health, OpenAPI. `verb` is the method in lower case. */
export interface PathRequest {
  readonly kind: 'path'
  readonly verb: string
  readonly path: string
}

export type RequestInfo = ResourceRequest | PathRequest

/** Says what method, path and query ask for, as kube-apiserver reads them; undefined when the method does not fit. */
export function requestInfo(
  method: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
): RequestInfo | undefined {
  const parts = segments(path)
  const core = parts[0] === 'api'
  const rest = parts.slice(core ? 2 : 3)
  if ((!core && parts[0] !== 'apis') || rest.length === 0 || parts.length < (core ? 3 : 4)) {
    return { kind: 'path', verb: method.toLowerCase(), path }
  }
  const where = locate(rest)
  if (!where) return undefined
  const verb = verbOf(method, where, query)
  if (!verb) return undefined
  const group = core ? '' : (parts[1] ?? '')
  const version = (core ? parts[1] : parts[2]) ?? ''
  return { kind: 'resource', verb, group, version, ...where }
}

/** The name that a list, watch or delete of many restricts itself to; roles with resourceNames allow it then. */
export function selectedName({ verb, name }: ResourceRequest, query: Readonly<Record<string, string>>): string {
  if (name || (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection')) return name
  for (const part of (query['fieldSelector'] ?? '').split(',')) {
    const match = /^metadata\.name==?([^=!]+)$/.exec(part.trim())
    if (match?.[1]) return match[1]
  }
  return ''
}

/** Whether a query parameter says yes. */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && value.toLowerCase() !== 'false' && value !== '0'
}

type Location = Pick<ResourceRequest, 'namespace' | 'resource' | 'name' | 'subresource'>

/** What follows group and version: `[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]`. */
function locate(parts: readonly string[]): Location | undefined {
  const [first = '', second = '', third = '', ...deeper] = parts
  if (first === 'namespaces' && second !== '' && third !== '' && !namespaceSubresources.has(third)) {
    const [name = '', subresource = '', ...tooDeep] = deeper
    return tooDeep.length > 0 ? undefined : { namespace: second, resource: third, name, subresource }
  }
  if (deeper.length > 0) return undefined
  return { namespace: first === 'namespaces' ? second : '', resource: first, name: second, subresource: third }
}

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize'])

function verbOf(
  method: string,
  { name, subresource }: Location,
  query: Readonly<Record<string, string>>,
): string | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isTrue(query['watch'])) return 'watch'
      return name ? 'get' : 'list'
    case 'POST':
      return name && !subresource ? undefined : 'create'
    case 'PUT':
      return name ? 'update' : undefined
    case 'PATCH':
      return name ? 'patch' : undefined
    case 'DELETE':
      return name ? 'delete' : 'deletecollection'
    default:
      return undefined
  }
}

/** The path's segments, decoded first, as Go does; empty ones (doubled slashes) are dropped. */
function segments(path: string): string[] {
  try {
    return (path.includes('%') ? decodeURIComponent(path) : path).split('/').filter((segment) => segment !== '')
  } catch (error) {
    throw new StatusError('BadRequest', `invalid URL escape in ${JSON.stringify(path)}`, { cause: error })
  }
}
