import { jsonIn } from '../../kube/basics/json.ts'
import { createHash, createPrivateKey, createPublicKey, randomUUID, sign, verify, type KeyObject } from 'node:crypto'
import { serviceAccountUser, type User } from './user.ts'

/** The issuer and default audience of our ServiceAccount tokens. */
export const defaultAudience = 'https://kubernetes.default.svc.cluster.local'

/** An object that a token is bound to: the token is invalid once it is deleted. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node'
  readonly name: string
  readonly uid: string
}

/** What a ServiceAccount token says, once its signature is verified. */
export interface TokenClaims {
  readonly namespace: string
  readonly serviceAccount: { readonly name: string; readonly uid: string }
  readonly bound?: BoundObject
  readonly audiences: readonly string[]
  /** Epoch seconds. */
  readonly issuedAt: number
  readonly expiresAt: number
  readonly id: string
}

/** Signs and verifies ServiceAccount tokens (JWT, ES256). */
export class ServiceAccountTokens {
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject
  readonly #keyId: string

  constructor(privateKeyPem: string) {
    this.#privateKey = createPrivateKey(privateKeyPem)
    this.#publicKey = createPublicKey(this.#privateKey)
    this.#keyId = createHash('sha256')
      .update(this.#publicKey.export({ type: 'spki', format: 'der' }))
      .digest('base64url')
  }

  sign(claims: Omit<TokenClaims, 'id'>): string {
    const { namespace, serviceAccount, bound, audiences, issuedAt, expiresAt } = claims
    const head = encode({ alg: 'ES256', kid: this.#keyId })
    const body = encode({
      aud: audiences,
      exp: expiresAt,
      iat: issuedAt,
      iss: defaultAudience,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        serviceaccount: serviceAccount,
        ...(bound ? { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } } : {}),
      },
      nbf: issuedAt,
      sub: serviceAccountUser({ namespace, name: serviceAccount.name }).name,
    })
    const signature = sign('sha256', Buffer.from(`${head}.${body}`), {
      key: this.#privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return `${head}.${body}.${signature.toString('base64url')}`
  }

  /** The claims of a token that this key signed and that is valid at this time; undefined for any other text. */
  read(token: string, nowMs: number): TokenClaims | undefined {
    const [head, body, signature, ...rest] = token.split('.')
    if (!head || !body || !signature || rest.length > 0) return undefined
    const header = decode(head)
    if (header?.['alg'] !== 'ES256' || header['kid'] !== this.#keyId) return undefined
    const genuine = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key: this.#publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    const claims = genuine ? claimsOf(decode(body)) : undefined
    const now = nowMs / 1000
    return claims && now < claims.expiresAt && now >= claims.issuedAt - clockSkewSeconds ? claims : undefined
  }

  /** The public key as a JSON Web Key Set. */
  keySet(): unknown {
    return { keys: [{ use: 'sig', alg: 'ES256', kid: this.#keyId, ...this.#publicKey.export({ format: 'jwk' }) }] }
  }
}

/** The user that a valid token authenticates. */
export function tokenUser({ namespace, serviceAccount, bound, id }: TokenClaims): User {
  const user = serviceAccountUser({ namespace, ...serviceAccount })
  const extra: Record<string, readonly string[]> = {
    'authentication.kubernetes.io/credential-id': [`JTI=${id}`],
    ...(bound
      ? {
          [`authentication.kubernetes.io/${bound.kind.toLowerCase()}-name`]: [bound.name],
          [`authentication.kubernetes.io/${bound.kind.toLowerCase()}-uid`]: [bound.uid],
        }
      : {}),
  }
  return { ...user, extra }
}

const clockSkewSeconds = 60

interface Payload {
  readonly aud?: readonly string[]
  readonly exp: number
  readonly iat: number
  readonly iss: string
  readonly jti: string
  readonly 'kubernetes.io': {
    readonly namespace: string
    readonly serviceaccount: { readonly name: string; readonly uid: string }
    readonly pod?: { readonly name: string; readonly uid: string }
    readonly secret?: { readonly name: string; readonly uid: string }
    readonly node?: { readonly name: string; readonly uid: string }
  }
}

/** Reads a payload whose signature was verified, so its shape is the one that `sign` wrote. */
function claimsOf(decoded: Record<string, unknown> | undefined): TokenClaims | undefined {
  if (decoded?.['iss'] !== defaultAudience) return undefined
  const payload = decoded as unknown as Payload
  const { namespace, serviceaccount, pod, secret, node } = payload['kubernetes.io']
  const bound: BoundObject | undefined =
    (pod && { kind: 'Pod', ...pod }) ?? (secret && { kind: 'Secret', ...secret }) ?? (node && { kind: 'Node', ...node })
  return {
    namespace,
    serviceAccount: serviceaccount,
    ...(bound ? { bound } : {}),
    audiences: payload.aud ?? [],
    issuedAt: payload.iat,
    expiresAt: payload.exp,
    id: payload.jti,
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(part: string): Record<string, unknown> | undefined {
  return jsonIn(Buffer.from(part, 'base64url').toString()) as Record<string, unknown> | undefined
}
