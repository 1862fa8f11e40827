/** The cluster and user that a kubeconfig names. */
export interface KubeconfigOptions {
  /** `https://127.0.0.1:7443`. */
  readonly server: string
  /** PEM of the CA that signed the server's certificate. */
  readonly authority: string
  readonly user: string
  readonly token: string
}

/** The text of a kubeconfig that trusts the server's CA and authenticates with a bearer token. */
export function kubeconfigText({ server, authority, user, token }: KubeconfigOptions): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: sojourn
    cluster:
      server: ${JSON.stringify(server)}
      certificate-authority-data: ${Buffer.from(authority).toString('base64')}
users:
  - name: ${JSON.stringify(user)}
    user:
      token: ${JSON.stringify(token)}
contexts:
  - name: sojourn
    context:
      cluster: sojourn
      user: ${JSON.stringify(user)}
current-context: sojourn
`
}
