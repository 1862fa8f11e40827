import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import type { Clock } from '../store/clock.ts'
import { defaultAudience, tokenUser, type ServiceAccountTokens, type TokenClaims } from './service-account-tokens.ts'
import type { StaticTokens } from './static-tokens.ts'
import { authenticated, type User } from './user.ts'

/** Finds the uid of a living object; undefined when there is none. */
export type UidLookup = (resource: string, namespace: string, name: string) => string | undefined

export interface AuthenticatorPorts {
  readonly tokens: StaticTokens
  readonly serviceAccounts: ServiceAccountTokens
  readonly uidOf: UidLookup
  readonly clock: Pick<Clock, 'now'>
}

/** The subject of a client certificate that our authority signed; repeated parts come as arrays. */
export interface CertificateSubject {
  readonly CN?: string | string[]
  readonly O?: string | string[]
}

/** Says who a token or certificate belongs to. */
export class Authenticator {
  readonly #ports: AuthenticatorPorts
  /** Signatures already checked; claims are judged anew at each use. */
  readonly #verified = new BoundedMap<string, TokenClaims>(1000)

  constructor(ports: AuthenticatorPorts) {
    this.#ports = ports
  }

  /** The user of a bearer token that is valid here and now; undefined for any other. */
  byToken(token: string, audiences: readonly string[] = [defaultAudience]): User | undefined {
    return this.#ports.tokens.user(token) ?? this.#byServiceAccountToken(token, audiences)
  }

  /** The user a verified client certificate names. */
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

  /** A token dies with its ServiceAccount and with the object it is bound to, even if others take their names. */
  #isAlive({ namespace, serviceAccount, bound }: TokenClaims): boolean {
    const { uidOf } = this.#ports
    if (uidOf('serviceaccounts', namespace, serviceAccount.name) !== serviceAccount.uid) return false
    if (!bound) return true
    const boundNamespace = bound.kind === 'Node' ? '' : namespace
    return uidOf(`${bound.kind.toLowerCase()}s`, boundNamespace, bound.name) === bound.uid
  }
}
