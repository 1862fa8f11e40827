import { secrets } from '../../kube/core-types.ts'
import { randomBytes } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { ignoring } from '../../kube/status-error.ts'

/** Where a text lies that all replicas share. */
export interface SharedSecretPlace {
  readonly namespace: string
  readonly name: string
  /** The field of the Secret that holds it. */
  readonly field: string
  /** Labels a new Secret gets. */
  readonly labels?: Readonly<Record<string, string>>
}

/** A random text that all replicas share: read from its Secret, which the first replica creates. */
export async function sharedSecret(
  client: Client,
  { namespace, name, field, labels = {} }: SharedSecretPlace,
): Promise<string> {
  const place = { namespace, name }
  const read = () => readSharedSecret(client, { namespace, name, field })
  const existing = await read()
  if (existing) return existing
  const data = { [field]: randomBytes(32).toString('base64') }
  await client
    .create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { ...place, labels }, type: 'Opaque', data })
    .catch(ignoring('AlreadyExists'))
  const stored = await read()
  if (!stored) throw new Error(`Secret ${namespace}/${name} has no ${field}`)
  return stored
}

/** The text, if its Secret exists. */
export async function readSharedSecret(
  client: Client,
  { namespace, name, field }: SharedSecretPlace,
): Promise<string | undefined> {
  const secret = await client.get(secrets, { namespace, name }).catch(ignoring('NotFound'))
  return (secret?.data as Readonly<Record<string, string>> | undefined)?.[field]
}
