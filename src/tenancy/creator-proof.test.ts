import { expect, it } from 'vitest'
import { Client } from '../client/client.ts'
import { VirtualClock } from '../runtime/time/virtual-clock.ts'
import { creatorPolicy, recordProof } from './creator-proof.ts'

function clusterWith(state: {
  version?: string
  binding?: Readonly<Record<string, unknown>>
  hasPolicy?: boolean
  status?: number
}) {
  const clock = new VirtualClock()
  let asked = 0
  const client = new Client(({ path }) => {
    const answer = (status: number, body: unknown) => Promise.resolve({ status, headers: {}, body })
    if (path === '/version') return answer(200, { gitVersion: state.version ?? 'v1.36.4' })
    asked++
    if (state.status !== undefined) return answer(state.status, { kind: 'Status', code: state.status })
    if (path.includes('validatingadmissionpolicybindings') && state.binding)
      return answer(200, { metadata: { name: 'sojourn-creator' }, spec: state.binding })
    if (path.includes('validatingadmissionpolicies') && state.hasPolicy !== false) return answer(200, { metadata: {} })
    return answer(404, { kind: 'Status', reason: 'NotFound', code: 404 })
  })
  return { clock, isProven: recordProof(creatorPolicy, { client, clock }), asked: () => asked, state }
}
const binding = { policyName: 'sojourn-creator', validationActions: ['Deny'] }

it('believes records where the API server refuses forged ones', async () => {
  expect(await clusterWith({ binding }).isProven()).toBe(true)
  expect(await clusterWith({ version: 'v1.36.0+sojourn' }).isProven()).toBe(true)
})

it.each([
  ['without the binding', {}],
  ['without the policy', { binding, hasPolicy: false }],
  ['with a binding that only warns', { binding: { ...binding, validationActions: ['Warn'] } }],
  ['with a binding to some namespaces only', { binding: { ...binding, matchResources: { namespaceSelector: {} } } }],
  ['with one that may not be read', { status: 403 }],
])('42: does not believe records %s', async (_, state) => {
  expect(await clusterWith(state).isProven()).toBe(false)
})

it('42: looks again each minute, and after a lookup that failed', async () => {
  const { state, isProven, clock, asked } = clusterWith({ binding })
  expect(await isProven()).toBe(true)
  const before = asked()
  expect(await isProven()).toBe(true)
  expect(asked()).toBe(before)
  delete (state as { binding?: unknown }).binding
  await clock.run(clock.now() + 60_000)
  expect(await isProven()).toBe(false)
  await clock.run(clock.now() + 60_000)
  Object.assign(state, { status: 500 })
  await expect(isProven()).rejects.toThrow()
  Object.assign(state, { status: undefined, binding })
  expect(await isProven()).toBe(true)
})
