import { badRequest } from './failures.ts'

/** Where a paged list goes on: the snapshot, the last key seen and how many were left behind it. */
export interface ContinueToken {
  /** Undefined: go on with the newest state, the snapshot being gone. */
  readonly revision: number | undefined
  readonly namespace: string
  readonly name: string
  readonly remaining: number | undefined
}

/** The token as clients carry it. */
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

/** Reads a token back; throws BadRequest for anything this server did not make. */
export function parseContinue(token: string): ContinueToken {
  const value = parse(token)
  const { v, rv, start, remaining } = value
  if (v !== 'meta.k8s.io/v1') throw invalidToken(`server does not recognize this encoded version ${String(v)}`)
  if (typeof start !== 'string' || start === '' || !Number.isSafeInteger(rv)) throw invalidToken('malformed value')
  const slash = start.indexOf('/')
  return {
    revision: Number(rv) < 0 ? undefined : Number(rv),
    namespace: slash < 0 ? '' : start.slice(0, slash),
    name: start.slice(slash + 1),
    remaining: Number.isSafeInteger(remaining) ? Number(remaining) : undefined,
  }
}

function parse(token: string): Record<string, unknown> {
  const illegal = token.search(/[^A-Za-z0-9_-]/)
  if (illegal >= 0 || token.length % 4 === 1)
    throw invalidToken(`illegal base64 data at input byte ${illegal >= 0 ? illegal : token.length - 1}`)
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
  } catch (error) {
    throw invalidToken(error instanceof Error ? error.message : String(error))
  }
  if (typeof value !== 'object' || value === null) throw invalidToken('malformed value')
  return value as Record<string, unknown>
}

function invalidToken(why: string) {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`)
}
