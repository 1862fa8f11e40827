import type { Client } from './client.ts'

/** Whether a cluster's server is our own: there owner references are ours to act on, and marks need no admission policy. */
export async function isEmbedded(client: Client): Promise<boolean> {
  const { body } = await client.request({ method: 'GET', path: '/version' })
  return String((body as { gitVersion?: string }).gitVersion).includes('+sojourn')
}
