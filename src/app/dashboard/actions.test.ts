import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import type { RouteRequest } from '../../runtime/http/route.ts'
import { actionRoutes } from './actions.ts'

describe('a write of the dashboard', () => {
  const user = { name: 'bob', groups: [] }
  const written = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Environment', metadata: { namespace: 'a', name: 'a' } }
  const client = new Client(() => Promise.resolve({ status: 200, headers: {}, body: written }))

  async function patched(body: string) {
    const messages: string[] = []
    const events = { record: (_: unknown, { message }: { message: string }) => void messages.push(message) }
    const [, patch] = actionRoutes({ clientAs: () => client, own: client, events, clock: systemClock })
    const url = '/act/apis/sojourn.dev/v1alpha1/namespaces/a/environments/a'
    const { status } = await patch!.handle({ url, body, headers: {}, query: {}, user } as unknown as RouteRequest)
    return { status, messages }
  }

  it('tells in an Event which fields it sets', async () => {
    const { messages } = await patched('{"spec":{"power":"Asleep","pullRequest":{"url":"x"}},"kind":"Environment"}')
    expect(messages).toEqual(['bob changed it on the dashboard: spec.power=Asleep, spec.pullRequest.url=x'])
  })

  it('142: tells of ten fields at most, however deep they are and many', async () => {
    const leaves = `{${Array.from({ length: 50_000 }, (_, index) => `"${index}":1`).join(',')}}`
    const { messages } = await patched(`${'{"spec":'.repeat(900)}${leaves}${'}'.repeat(900)}`)
    expect(messages[0]!.length).toBeLessThan(2000)
  })
})
