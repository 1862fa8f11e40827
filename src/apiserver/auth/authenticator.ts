import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import type { Clock } from '../store/clock.ts'
import { defaultAudience, tokenUser, type ServiceAccountTokens, type TokenClaims } from './service-account-tokens.ts'
import type { StaticTokens } from './static-tokens.ts'
import { authenticated, type User } from './user.ts'

/** Finds the uid of an existing object; undefined when there is none. */
export type UidLookup = (resource: string, namespace: string, name: string) => string | undefined

/** What authentication reads. */
export interface AuthenticatorPorts {
  readonly tokens: StaticTokens
  readonly serviceAccounts: ServiceAccountTokens
  readonly uidOf: UidLookup
  readonly clock: Pick<Clock, 'now'>
}

/** The subject of a client certificate signed by the server's CA; repeated attributes arrive as arrays. */
export interface CertificateSubject {
  readonly CN?: string | string[]
  readonly O?: string | string[]
}

/** Resolves bearer tokens and client certificates to users. */
export class Authenticator {
  readonly #ports: AuthenticatorPorts
  /** Claims of tokens whose signature was verified. Expiry and bound objects are checked again on every request. */
  readonly #verified = new BoundedMap<string, TokenClaims>(1000)

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports
  }

  /** The user of a bearer token that is valid now for one of the audiences; undefined for any other token. */
  byToken(token: string, audiences: readonly string[] = [defaultAudience]): User | undefined {
    return this.#ports.tokens.user(token) ?? this.#byServiceAccountToken(token, audiences)
  }

  /** The user named by a verified client certificate: CN is the name, O the groups. */
  byCertificate(subject: CertificateSubject): User | undefined {
    const [name] = [subject.CN ?? []].flat()
    return name ? authenticated({ name, groups: [subject.O ?? []].flat() }) : undefined
  }

  #byServiceAccountToken(token: string, audiences: readonly string[]): User | undefined {
    const claims = this.#claims(token)
    if (!claims || !claims.audiences.some((audience) => audiences.includes(audience))) return undefined
    return this.#isAlive(claims) ? tokenUser(claims) : undefined
  }

  #claims(token: string): TokenClaims | undefined {
    const { clock, serviceAccounts } = this.#ports
    const known = this.#verified.get(token)
    if (known && clock.now() < known.expiresAt * 1000) return known
    this.#verified.delete(token)
    const claims = serviceAccounts.read(token, clock.now())
    if (!claims) return undefined
    this.#verified.set(token, claims)
    return claims
  }

  /**
   * Whether the ServiceAccount and the bound object still exist. Compared by uid: a recreated object does not revive
   * a token.
   */
  #isAlive({ namespace, serviceAccount, bound }: TokenClaims): boolean {
    const { uidOf } = this.#ports
    if (uidOf('serviceaccounts', namespace, serviceAccount.name) !== serviceAccount.uid) return false
    if (!bound) return true
    const boundNamespace = bound.kind === 'Node' ? '' : namespace
    return uidOf(`${bound.kind.toLowerCase()}s`, boundNamespace, bound.name) === bound.uid
  }
}
