import { expect, it } from 'vitest'
import { SecretValues } from '../../kube/redact.ts'
import type { ApiRequest } from '../../kube/transport.ts'
import { secretKeepingTransport } from './known-secrets.ts'

const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { token: btoa('postgres-token') } }

/** A transport that answers with a Secret, and what was sent by it. */
function transportOf(answer: { readonly body: unknown; readonly stream?: AsyncIterable<unknown> }) {
  const sent: ApiRequest[] = []
  const transport = secretKeepingTransport((request) => {
    sent.push(request)
    return Promise.resolve({ status: 200, headers: {}, ...answer })
  }, new SecretValues())
  return { transport, sent }
}

it.each([
  ['an object', '/api/v1/namespaces/a/secrets/s', { body: secret }],
  [
    'a list',
    '/api/v1/secrets',
    { body: { kind: 'SecretList', items: [{ metadata: secret.metadata, data: secret.data }] } },
  ],
  ['a watch', '/api/v1/secrets', { body: '', stream: watchOf({ type: 'ADDED', object: secret }) }],
])('27: keeps values of %s out of the messages of statuses', async (_, path, answer) => {
  const { transport, sent } = transportOf(answer)
  const { stream } = await transport({ method: 'GET', path })
  if (stream) for await (const event of stream) void event
  const status = { name: 'postgres-token', conditions: [{ message: 'git said: bad token postgres-token' }] }
  await transport({ method: 'PUT', path: '/apis/x/v1/pipelines/p/status', body: { status } })
  expect(sent.at(-1)?.body).toEqual({
    status: { name: 'postgres-token', conditions: [{ message: 'git said: bad token <redacted>' }] },
  })
})

async function* watchOf(...events: readonly unknown[]): AsyncIterable<unknown> {
  for (const event of events) yield await Promise.resolve(event)
}
