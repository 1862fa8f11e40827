import { StatusError } from '../../../kube/status-error.ts'

/** A parsed request for a resource. Whether that resource is served is not checked here. */
export interface ResourceRequest {
  readonly kind: 'resource'
  /** get list watch create update patch delete deletecollection. */
  readonly verb: string
  readonly group: string
  readonly version: string
  /**
   * '' at the cluster scope and for all namespaces. A Namespace object counts as being in itself, as in
   * kube-apiserver.
   */
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  /** '' for a collection. */
  readonly name: string
}

/** A request for any other path: discovery, health, OpenAPI. `verb` is the method in lower case. */
export interface PathRequest {
  readonly kind: 'path'
  readonly verb: string
  readonly path: string
}

/** What a request asks for. */
export type RequestInfo = ResourceRequest | PathRequest

/** Parses method, path and query as kube-apiserver does; undefined when the path does not allow the method. */
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

/** The name that a list, watch or deletecollection selects by `metadata.name`: rules with resourceNames then apply. */
export function selectedName({ verb, name }: ResourceRequest, query: Readonly<Record<string, string>>): string {
  if (name || (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection')) return name
  for (const part of (query['fieldSelector'] ?? '').split(',')) {
    const match = /^metadata\.name==?([^=!]+)$/.exec(part.trim())
    if (match?.[1]) return match[1]
  }
  return ''
}

/** Whether a query parameter is true, by Kubernetes' rule: anything but `false` and `0`. */
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

/** The segments of a path. Decoded before splitting, as Go does; empty segments (`//`) are dropped. */
function segments(path: string): string[] {
  try {
    return (path.includes('%') ? decodeURIComponent(path) : path).split('/').filter((segment) => segment !== '')
  } catch (error) {
    throw new StatusError('BadRequest', `invalid URL escape in ${JSON.stringify(path)}`, { cause: error })
  }
}
