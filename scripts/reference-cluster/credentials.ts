import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where each credential is kept in a cluster's directory. */
export function credentialFiles(directory: string) {
  return {
    serviceAccountKey: join(directory, 'service-accounts.key'),
    tokens: join(directory, 'tokens.csv'),
    /** Made by kube-apiserver as it starts. */
    servingCertificate: join(directory, 'apiserver.crt'),
    kubeconfig: join(directory, 'kubeconfig'),
  }
}

/** Writes what kube-apiserver wants to read as it starts; returns the admin's token. */
export function writeServerSecrets(directory: string): string {
  const { serviceAccountKey, tokens } = credentialFiles(directory)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const token = randomBytes(16).toString('hex')
  writeSecret(serviceAccountKey, privateKey.export({ type: 'sec1', format: 'pem' }))
  writeSecret(tokens, `${token},admin,admin,"system:masters"\n`)
  return token
}

/** The serving certificate with the one that signed it. */
export function readCa(directory: string): string {
  return readFileSync(credentialFiles(directory).servingCertificate, 'utf8')
}

/** Writes the admin's kubeconfig and returns its path. */
export function writeKubeconfig(directory: string, access: Record<'url' | 'ca' | 'token', string>): string {
  const { kubeconfig } = credentialFiles(directory)
  const { url, ca, token } = access
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'reference',
    clusters: [{ name: 'reference', cluster: { server: url, 'certificate-authority-data': btoa(ca) } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'reference', context: { cluster: 'reference', user: 'admin' } }],
  }
  writeSecret(kubeconfig, JSON.stringify(config, null, 2)) // JSON is YAML.
  return kubeconfig
}

function writeSecret(file: string, content: string | Buffer): void {
  writeFileSync(file, content, { mode: 0o600 })
}
