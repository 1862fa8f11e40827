import type { GroupVersionKind } from '../../../kube/object.ts'
import type { Components } from './components.ts'
import type { OpenApiKind } from './open-api.ts'

type Json = Record<string, unknown>

/** The paths of one kind and its subresources, with the operations that clients look up. */
export function pathsOf(kind: OpenApiKind, components: Components): Json {
  const { group, version, plural, namespaced, verbs, schema } = kind
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`
  const base = `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`
  const body = components.kind(schema)
  const isBuiltin = schema.struct !== undefined
  const list = verbs.includes('list') ? components.list(kind, kind.listKind, body) : body
  const make = new Operations(gvkOf(kind), components)
  const paths: Json = {
    [base]: item(namespaced ? ['namespace'] : [], {
      get: verbs.includes('list') && make.read('list', list),
      post: verbs.includes('create') && make.write('post', body),
      delete: verbs.includes('deletecollection') && make.remove('deletecollection'),
    }),
  }
  if (namespaced && verbs.includes('list')) paths[`${root}/${plural}`] = item([], { get: make.read('list', list) })
  const named = namespaced ? ['name', 'namespace'] : ['name']
  if (verbs.includes('get')) paths[`${base}/{name}`] = item(named, make.all(verbs, body, isBuiltin))
  for (const sub of kind.subresources) {
    const own = new Operations(gvkOf(sub), components)
    const subBody = sub.kind === kind.kind ? body : components.other(sub)
    const post = sub.verbs.includes('create') && own.write('post', subBody)
    paths[`${base}/{name}/${sub.name}`] = item(named, { ...own.all(sub.verbs, subBody, isBuiltin), post })
  }
  return paths
}

/** Builds the operations of one kind. */
class Operations {
  readonly #gvk: Json
  readonly #components: Components

  constructor(gvk: Json, components: Components) {
    this.#gvk = gvk
    this.#components = components
  }

  all(verbs: readonly string[], body: Json, isBuiltin: boolean): Json {
    return {
      get: verbs.includes('get') && this.read('get', body),
      put: verbs.includes('update') && this.write('put', body),
      patch: verbs.includes('patch') && this.patch(body, isBuiltin),
      delete: verbs.includes('delete') && this.remove('delete'),
    }
  }

  read(action: string, body: Json): Json {
    const parameters = action === 'list' ? listParameters : []
    return this.#operation(action, body, { parameters })
  }

  write(action: 'post' | 'put', body: Json): Json {
    const requestBody = { content: { '*/*': { schema: body } }, required: true }
    return this.#operation(action, body, { parameters: writeParameters, requestBody })
  }

  patch(body: Json, isBuiltin: boolean): Json {
    const schema = this.#components.patch()
    const types = [
      'apply-patch+yaml',
      'json-patch+json',
      'merge-patch+json',
      ...(isBuiltin ? ['strategic-merge-patch+json'] : []),
    ]
    const content = Object.fromEntries(types.map((type) => [`application/${type}`, { schema }]))
    const parameters = [...writeParameters, query('force', 'boolean')]
    return this.#operation('patch', body, { parameters, requestBody: { content, required: true } })
  }

  remove(action: 'delete' | 'deletecollection'): Json {
    const options = this.#components.other({ group: '', version: 'v1', kind: 'DeleteOptions' })
    const status = this.#components.other({ group: '', version: 'v1', kind: 'Status' })
    const parameters = [query('dryRun'), query('gracePeriodSeconds', 'integer'), query('propagationPolicy')]
    return this.#operation(action, status, { parameters, requestBody: { content: { '*/*': { schema: options } } } })
  }

  #operation(action: string, answer: Json, rest: Json): Json {
    return {
      ...rest,
      responses: { '200': { description: 'OK', content: { 'application/json': { schema: answer } } } },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': this.#gvk,
    }
  }
}

function query(name: string, type = 'string'): Json {
  return { in: 'query', name, schema: { type, uniqueItems: true } }
}

const writeParameters = [query('dryRun'), query('fieldManager'), query('fieldValidation')]
const listParameters = [
  query('allowWatchBookmarks', 'boolean'),
  query('continue'),
  query('fieldSelector'),
  query('labelSelector'),
  query('limit', 'integer'),
  query('resourceVersion'),
  query('resourceVersionMatch'),
  query('sendInitialEvents', 'boolean'),
  query('timeoutSeconds', 'integer'),
  query('watch', 'boolean'),
]

/** A path item with the operations that exist. */
function item(inPath: readonly string[], operations: Json): Json {
  const parameters = inPath.map((name) => ({
    in: 'path',
    name,
    required: true,
    schema: { type: 'string', uniqueItems: true },
  }))
  const present = Object.entries(operations).filter(([, operation]) => operation)
  return { ...Object.fromEntries(present), ...(parameters.length > 0 ? { parameters } : {}) }
}

function gvkOf({ group, version, kind }: GroupVersionKind): Json {
  return { group, kind, version }
}
