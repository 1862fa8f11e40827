import { createSecureContext, type SecureVersion } from 'node:tls'

/** Requirements for TLS connections of clients. Absent ones default to Node's, with TLS 1.2 as the minimum version. */
export interface TlsPolicy {
  readonly minVersion?: Extract<SecureVersion, 'TLSv1.2' | 'TLSv1.3'>
  /** In OpenSSL's syntax: `ECDHE+AESGCM:!RSA`, and TLS 1.3 suites by name. */
  readonly ciphers?: string
  /** Groups for the key exchange, in order: `X25519:P-256`. */
  readonly ecdhCurve?: string
}

/** The policy as TLS options. */
export function tlsOptions(policy: TlsPolicy): TlsPolicy & { readonly minVersion: SecureVersion } {
  return { minVersion: 'TLSv1.2', ...policy }
}

/** Why OpenSSL rejects a policy; undefined when it accepts it. */
export function tlsPolicyError(policy: TlsPolicy): string | undefined {
  try {
    createSecureContext(tlsOptions(policy))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
