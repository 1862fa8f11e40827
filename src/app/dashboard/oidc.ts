import { readFileSync } from 'node:fs'
import type { Configuration, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { Http, HttpRequest } from '../../runtime/http/http.ts'
import type { DashboardConfig } from '../config/dashboard-config.ts'

/** What a browser keeps, encrypted, while its user is at the provider. */
export type LoginState = Readonly<Record<'state' | 'nonce' | 'verifier', string>> & { readonly until: number }

/** What the provider said of a user. */
export interface Said {
  readonly idToken: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly expiresAt: number
  readonly refreshToken?: string
}

/** OpenID Connect's authorization code flow, with PKCE and nonce. */
export class Oidc {
  readonly #texts: DashboardConfig['texts']
  readonly #publicUrl: string
  readonly #http: Http
  #found: Promise<Configuration> | undefined

  constructor(
    texts: DashboardConfig['texts'],
    { publicUrl, http }: { readonly publicUrl: string; readonly http: Http },
  ) {
    this.#texts = texts
    this.#publicUrl = publicUrl
    this.#http = http
  }

  /** Where to send the user, and what the callback needs. */
  async begin(until: number): Promise<{ url: string; login: LoginState }> {
    const [oidc, provider] = await this.#provider()
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
    const scope = this.#texts['oidc-scopes']
    const url = oidc.buildAuthorizationUrl(provider, {
      redirect_uri: `${this.#publicUrl}/auth/callback`,
      scope,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      // Without consent, providers grant no refresh token.
      ...(scope.includes('offline_access') ? { prompt: 'consent' } : {}),
    })
    return { url: url.href, login: { state, nonce, verifier, until } }
  }

  /** Exchanges the code of a callback. Throws when state, nonce, signature or times are wrong. */
  async finish(query: string, { state, nonce, verifier }: LoginState): Promise<Said> {
    const [oidc, provider] = await this.#provider()
    // The library sends this URL as redirect_uri: behind an ingress, the request's own host is another.
    const url = new URL(`${this.#publicUrl}/auth/callback${query}`)
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    return saidIn(await oidc.authorizationCodeGrant(provider, url, checks))
  }

  /** Asks again. Throws when the provider refuses or sends no ID token. */
  async renew(refreshToken: string): Promise<Said> {
    const [oidc, provider] = await this.#provider()
    return { refreshToken, ...saidIn(await oidc.refreshTokenGrant(provider, refreshToken)) }
  }

  /** Where the user signs out of the provider, if it has such a page. */
  async signOutUrl(idToken?: string): Promise<string | undefined> {
    const [oidc, provider] = await this.#provider()
    if (provider.serverMetadata().end_session_endpoint === undefined) return undefined
    const hint = idToken ? { id_token_hint: idToken } : {}
    return oidc.buildEndSessionUrl(provider, { post_logout_redirect_uri: `${this.#publicUrl}/`, ...hint }).href
  }

  /** The provider's metadata, read once; a failure is tried again at the next sign-in. */
  async #provider() {
    // Loaded on first use: most processes sign no one in.
    const oidc = await import('openid-client')
    const read = (name: 'oidc-client-secret-file' | 'oidc-ca-file') =>
      this.#texts[name] === '' ? undefined : readFileSync(this.#texts[name], 'utf8').trim()
    const [secret, ca] = [read('oidc-client-secret-file'), read('oidc-ca-file')]
    const [issuer, clientId] = [new URL(this.#texts['oidc-issuer']), this.#texts['oidc-client-id']]
    const authentication = secret === undefined ? oidc.None() : oidc.ClientSecretBasic(secret)
    const send = async (
      url: string,
      { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
    ) => {
      const sent = body === undefined || body === null ? {} : { body: Buffer.from(String(body as string)) }
      const answer = await this.#http({ method: method as HttpRequest['method'], url, headers, ca, ...sent })
      return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers })
    }
    this.#found ??= oidc
      .discovery(issuer, clientId, { [oidc.clockTolerance]: 30 }, authentication, { [oidc.customFetch]: send })
      .catch((error: unknown) => {
        this.#found = undefined
        throw error
      })
    return [oidc, await this.#found] as const
  }
}

function saidIn(answer: TokenEndpointResponse & TokenEndpointResponseHelpers): Said {
  const claims = answer.claims()
  const { id_token: idToken, refresh_token: refreshToken } = answer
  if (!claims || idToken === undefined) throw new Error('the provider sent no ID token')
  return { idToken, claims, expiresAt: claims.exp * 1000, ...(refreshToken ? { refreshToken } : {}) }
}
