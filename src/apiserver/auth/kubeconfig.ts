import { stringify } from 'yaml'

export interface KubeconfigOptions {
  /** `https://127.0.0.1:7443`. */
  readonly server: string
  /** PEM of the authority that signed the server's certificate. */
  readonly authority: string
  readonly user: string
  readonly token: string
}

/** A kubeconfig that trusts the server and carries a token. */
export function kubeconfigText({ server, authority, user, token }: KubeconfigOptions): string {
  const name = 'sojourn'
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    'current-context': name,
  })
}
