import { kindOfJson } from '../../schema/decode/decode-scalar.ts'
import { goJsonError } from '../../schema/wire/json-text.ts'
import { badRequest } from '../contract/failures.ts'

/** The position of a paged list: its snapshot, the last key returned and the number of items after it. */
export interface ContinueToken {
  /** Undefined: continue with the newest state, because the snapshot was compacted away. */
  readonly revision: number | undefined
  readonly namespace: string
  readonly name: string
  readonly remaining: number | undefined
}

/** Encodes a token as kube-apiserver does. */
export function formatContinue({ revision, namespace, name, remaining }: ContinueToken): string {
  const key = namespace ? `${namespace}/${name}` : name
  const value = {
    v: 'meta.k8s.io/v1',
    rv: revision ?? -1,
    start: key,
    ...(remaining === undefined ? {} : { remaining }),
  }
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Decodes a token; throws BadRequest with kube-apiserver's text when it is malformed. */
export function parseContinue(token: string): ContinueToken {
  const { v = '', rv = 0, start = '', remaining } = parse(token)
  if (v !== 'meta.k8s.io/v1') throw invalidToken(`: server does not recognize this encoded version ${v}`)
  if (rv === 0) throw invalidToken(': incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  if (start === '') throw invalidToken(': encoded start key empty (version meta.k8s.io/v1)')
  const steps = start.replace(/^\//, '').split('/')
  if (steps.some((step) => ['', '.', '..'].includes(step))) throw invalidToken(`: ${start}`)
  return {
    revision: rv < 0 ? undefined : rv,
    namespace: steps.length > 1 ? (steps[0] ?? '') : '',
    name: steps.slice(steps.length > 1 ? 1 : 0).join('/'),
    remaining: Number.isSafeInteger(remaining) ? remaining : undefined,
  }
}

interface TokenFields {
  readonly v?: string
  readonly rv?: number
  readonly start?: string
  readonly remaining?: number
}

function parse(token: string): TokenFields {
  const illegal = token.search(/[^A-Za-z0-9_-]/)
  if (illegal >= 0 || token.length % 4 === 1)
    throw invalidToken(`: illegal base64 data at input byte ${illegal >= 0 ? illegal : token.length - 1}`)
  const value = parsed(Buffer.from(token, 'base64url'))
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidToken(`: json: cannot unmarshal ${kindOfJson(value)} into Go value of type storage.continueToken`)
  const fields = value as Record<string, unknown>
  for (const [name, type] of Object.entries({ v: 'string', rv: 'int64', start: 'string' }))
    checkField(fields, name, type)
  return fields as TokenFields
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw invalidToken(`: ${goJsonError(bytes)}`)
  }
}

function checkField(fields: Record<string, unknown>, name: string, type: string): void {
  const value = fields[name]
  if (value === undefined || value === null) return
  if (type === 'string' ? typeof value === 'string' : Number.isSafeInteger(value)) return
  throw invalidToken(
    `: json: cannot unmarshal ${kindOfJson(value, type)} into Go struct field continueToken.${name} of type ${type}`,
  )
}

function invalidToken(why: string) {
  return badRequest(`invalid continue token: continue key is not valid${why}`)
}
