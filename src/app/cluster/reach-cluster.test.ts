import { afterEach, beforeEach, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { registerKinds } from '../../admission/register-kinds.ts'
import { allKinds } from '../../apis/all-kinds.ts'
import { Client } from '../../client/client.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { reachCluster } from './reach-cluster.ts'

let server: TestServer
let client: Client
beforeEach(async () => {
  server = await startTestServer({ clock: systemClock })
  client = new Client(server.transport)
})
afterEach(() => server.close())

const reach = (waits: boolean, onError: (message: string, facts: unknown) => void = () => {}) =>
  reachCluster({
    client,
    server: 'https://cluster',
    clock: systemClock,
    log: { ...silentLogger, error: (message, facts) => onError(message, facts) },
    random: () => 0,
    signal: new AbortController().signal,
    waitsForKinds: () => Promise.resolve(waits),
  })

it('tells a user at once that the kinds are missing', async () => {
  await expect(reach(false)).rejects.toThrow('sojourn install --crds-only')
})

it('waits for the kinds where it is installed, and names those that are missing', async () => {
  const said: unknown[] = []
  const reached = reach(true, (message, facts) => {
    said.push(message, facts)
    void registerKinds(client)
  })
  await reached
  expect(said[0]).toBe('kinds missing, waiting for them')
  const { missing } = said[1] as { readonly missing: string }
  expect(missing.split(' ')).toEqual(allKinds.map(({ plural, group }) => `${plural}.${group}`))
})
