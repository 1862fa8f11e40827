import type { KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { keptCertificate, type KeptCertificatePorts } from '../core/kept-certificate.ts'
import { certificateSecret, webhookName } from '../../admission/webhook-configuration.ts'

type WebhookConfiguration = StoredObject & {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
}

/**
 * The certificate of the admission webhook: renews it, and writes its authority into the webhook configuration. Undefined when the
 * webhook is not installed, or cert-manager manages its authority.
 */
export async function webhookCertificate(ports: KeptCertificatePorts): Promise<KeyPair | undefined> {
  const { client } = ports
  const configuration = await client
    .get<WebhookConfiguration>(configurations, { name: webhookName })
    .catch(ignoring('NotFound'))
  if (!configuration || 'cert-manager.io/inject-ca-from' in (configuration.metadata.annotations ?? {})) return undefined
  const chain = await keptCertificate(certificateSecret, ports)
  if (!chain)
    throw new Error(
      `Secret ${certificateSecret} for the webhook's certificate does not exist: run "sojourn install" again`,
    )
  const caBundle = Buffer.from(chain.authority.certificate).toString('base64')
  const { webhooks = [] } = configuration
  if (webhooks.some(({ clientConfig }) => clientConfig.caBundle !== caBundle)) {
    const trusting = webhooks.map((each) => ({ ...each, clientConfig: { ...each.clientConfig, caBundle } }))
    await client.update(configurations, { ...configuration, webhooks: trusting })
  }
  return chain.server
}

const configurations: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
}
