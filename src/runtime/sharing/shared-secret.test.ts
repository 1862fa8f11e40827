import { secrets } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import { sharedSecret } from './shared-secret.ts'
import { systemClock } from '../time/clock.ts'

describe('a secret that replicas share', () => {
  const place = { namespace: 'default', name: 'shared', field: 'key' }
  let server: TestServer
  let client: Client

  beforeEach(async () => {
    server = await startTestServer({ clock: systemClock })
    client = new Client(server.transport)
  })
  afterEach(() => server.close())

  it('is the same for all who ask at once, and for those who come later', async () => {
    const found = await Promise.all(Array.from({ length: 10 }, () => sharedSecret(new Client(server.transport), place)))
    const later = await sharedSecret(client, place)
    expect(new Set([...found, later]).size).toBe(1)
    expect(Buffer.from(later, 'base64')).toHaveLength(32)
  })

  it('says which field is missing from a Secret that Sojourn did not create', async () => {
    const { field: _, ...metadata } = place
    await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data: { other: 'eA==' } })
    await expect(sharedSecret(client, place)).rejects.toThrow('Secret default/shared has no key')
  })
})
