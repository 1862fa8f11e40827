import { defaultAudience, type ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import { json } from './response/answer.ts'
import type { PathHandler } from './edge.ts'

/** Serves the OpenID discovery document and keys that verify ServiceAccount tokens. */
export function issuerPaths(tokens: ServiceAccountTokens): PathHandler {
  return (_, path) => {
    switch (path) {
      case '/openid/v1/jwks':
        return json(tokens.keySet())
      case '/.well-known/openid-configuration':
        return json({
          issuer: defaultAudience,
          jwks_uri: `${defaultAudience}/openid/v1/jwks`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['ES256'],
        })
      default:
        return undefined
    }
  }
}
