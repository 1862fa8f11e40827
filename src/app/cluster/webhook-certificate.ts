import type { KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import { clusterScoped } from '../../kube/core-types.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { keptCertificate, type KeptCertificatePorts } from '../core/kept-certificate.ts'
import { creatorPolicy } from '../../tenancy/creator-proof.ts'
import { certificateSecret, webhookName } from '../../admission/webhook-configuration.ts'

type WebhookConfiguration = StoredObject & {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
}

/**
 * The certificate of the admission webhooks: renews it, and writes its authority into their configurations. Undefined when the
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
  await trust(client, { type: configurations, configuration, caBundle })
  const recording = await client
    .get<WebhookConfiguration>(mutatingConfigurations, { name: creatorPolicy })
    .catch(ignoring('NotFound'))
  if (recording) await trust(client, { type: mutatingConfigurations, configuration: recording, caBundle })
  return chain.server
}

interface Trust {
  readonly type: ResourceType
  readonly configuration: WebhookConfiguration
  readonly caBundle: string
}

/** Writes the authority into a configuration that has another one. */
async function trust(client: KeptCertificatePorts['client'], { type, configuration, caBundle }: Trust): Promise<void> {
  const { webhooks = [] } = configuration
  if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return
  const trusting = webhooks.map((each) => ({ ...each, clientConfig: { ...each.clientConfig, caBundle } }))
  await client.update(type, { ...configuration, webhooks: trusting })
}

const configurations = clusterScoped('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration')
const mutatingConfigurations = clusterScoped('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration')
