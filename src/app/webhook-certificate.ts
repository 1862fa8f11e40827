import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { issueCertificate, type KeyPair } from '../apiserver/auth/certificate.ts'
import { isUsable } from '../apiserver/auth/credentials.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject, ResourceType, StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import type { Clock } from '../runtime/clock.ts'
import { certificateSecret, webhookName } from './webhook-configuration.ts'

export interface WebhookCertificatePorts {
  readonly client: Client
  readonly clock: Clock
  /** Names and addresses by which the cluster reaches us. */
  readonly hosts: readonly string[]
}

interface Chain {
  readonly authority: KeyPair
  readonly server: KeyPair
}

type WebhookConfiguration = StoredObject & {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
}

/** The certificate under which a cluster asks its webhook: the same for all replicas, kept in a Secret, renewed in time, trusted by the configuration. */
export class WebhookCertificate {
  readonly #ports: WebhookCertificatePorts

  constructor(ports: WebhookCertificatePorts) {
    this.#ports = ports
  }

  /** Makes whatever is missing and tells the cluster whom to trust; undefined when it has no webhook of ours, or somebody else cares for its trust. */
  async current(): Promise<KeyPair | undefined> {
    const { client } = this.#ports
    const configuration = await client
      .get<WebhookConfiguration>(configurations, { name: webhookName })
      .catch(ignoring('NotFound'))
    if (!configuration || 'cert-manager.io/inject-ca-from' in (configuration.metadata.annotations ?? {}))
      return undefined
    const { authority, server } = await this.#chain()
    const caBundle = Buffer.from(authority.certificate).toString('base64')
    const { webhooks = [] } = configuration
    if (webhooks.some(({ clientConfig }) => clientConfig.caBundle !== caBundle)) {
      const trusting = webhooks.map((each) => ({ ...each, clientConfig: { ...each.clientConfig, caBundle } }))
      await client.update(configurations, { ...configuration, webhooks: trusting })
    }
    return server
  }

  /** What the Secret holds, as long as it will do; of several replicas that renew it at once, one wins and the others use its. */
  async #chain(): Promise<Chain> {
    const { client, clock, hosts } = this.#ports
    const place = { namespace: sojournNamespace, name: certificateSecret }
    const found = await client.get(secrets, place).catch(ignoring('NotFound'))
    const known = chainIn(found)
    const now = clock.now()
    if (known && isUsable(known.server, known.authority, now, hosts)) return known
    const made = renewed(known?.authority, { hosts, now })
    const data = dataOf(made)
    const written = await (
      found
        ? client.update(secrets, { ...found, data })
        : client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: place, type: 'Opaque', data })
    ).catch(ignoring('Conflict', 'AlreadyExists'))
    return written ? made : (chainIn(await client.get(secrets, place)) ?? made)
  }
}

const authorityName = 'sojourn-webhook-ca'
const day = 86_400_000

/** A new certificate, by the authority that is trusted already if it lasts. */
function renewed(known: KeyPair | undefined, { hosts, now }: { hosts: readonly string[]; now: number }): Chain {
  const lasts = known && isUsable(known, known, now + 365 * day)
  const authority = lasts
    ? { ...known, issuer: { commonName: authorityName, key: createPrivateKey(known.key) } }
    : issueCertificate({
        commonName: authorityName,
        usage: 'authority',
        now,
        days: 3650,
        serial: randomBytes(16),
      })
  const { certificate, key } = issueCertificate(
    { commonName: 'sojourn', hosts, usage: 'server', now, days: 365, serial: randomBytes(16) },
    authority.issuer,
  )
  return { authority: { certificate: authority.certificate, key: authority.key }, server: { certificate, key } }
}

const fields = { 'ca.crt': 0, 'ca.key': 1, 'tls.crt': 2, 'tls.key': 3 } as const

function dataOf({ authority, server }: Chain): Record<string, string> {
  const texts = [authority.certificate, authority.key, server.certificate, server.key]
  return Object.fromEntries(
    Object.entries(fields).map(([name, index]) => [name, Buffer.from(texts[index] ?? '').toString('base64')]),
  )
}

/** What a Secret holds; undefined when that is nothing, or nothing we could have written. */
function chainIn(secret: KubeObject | undefined): Chain | undefined {
  const data = (secret?.data ?? {}) as Readonly<Record<string, string>>
  const [ca = '', caKey = '', certificate = '', key = ''] = Object.keys(fields).map((name) =>
    Buffer.from(data[name] ?? '', 'base64').toString('utf8'),
  )
  const isReadable =
    [ca, certificate].every(isCertificate) && [caKey, key].every((text) => text.includes('PRIVATE KEY'))
  return isReadable ? { authority: { certificate: ca, key: caKey }, server: { certificate, key } } : undefined
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== ''
  } catch {
    return false
  }
}

const configurations: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
}

const secrets: ResourceType = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }
