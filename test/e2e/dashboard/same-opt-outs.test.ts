import { describe, expect, it } from 'vitest'
import type { CandidateSpec } from '../../../src/apis/cleanup-candidate.ts'
import type { CleanupOptOut, CleanupOptOutSpec } from '../../../src/apis/cleanup-opt-out.ts'
import { optOutCovers } from '../../../src/departures/door/protection.ts'
import { optOutName } from '../../../src/systems/janitor/opt-outs/opt-out.ts'
import { cloudCluster } from '../../../src/systems/janitor/verdict/protection.ts'

type Resource = CandidateSpec['resource']

interface OptOutsOfTheDashboard {
  liveOptOut(optOuts: readonly CleanupOptOut[], resource: Resource, now: number): CleanupOptOut | undefined
  optOutName(resource: Resource): Promise<string>
}

const ui = (await import(new URL('../../../ui/opt-outs.js', import.meta.url).href)) as unknown as OptOutsOfTheDashboard
const now = Date.parse('2026-11-17T12:00:00Z')

const shop: Resource = {
  provider: 'kubernetes',
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  namespace: 'team',
  name: 'shop',
  uid: 'u-1',
}
const image: Resource = {
  provider: 'aws',
  account: '123456789012',
  region: 'eu-west-1',
  apiVersion: 'aws/v1',
  kind: 'image',
  name: 'ami-1',
  uid: 'ami-1@2026-01-01T00:00:00Z',
}
const resources: Readonly<Record<string, Resource>> = {
  'an object': shop,
  'its namesake in another cluster': { ...shop, cluster: 'edge', uid: 'u-2' },
  'its namesake in another group': { ...shop, apiVersion: 'example.test/v1', uid: 'u-3' },
  'its namesake in another namespace': { ...shop, namespace: 'other', uid: 'u-4' },
  'one created anew under its name': { ...shop, uid: 'u-5' },
  'an image': image,
  'an image in another region': { ...image, region: 'us-east-1', uid: 'ami-1@2026-02-02T00:00:00Z' },
}
const { apiVersion, kind, namespace, name } = shop
const optOuts: Readonly<Record<string, CleanupOptOutSpec>> = {
  'an opt-out by name': { resource: { apiVersion, kind, namespace: namespace!, name } },
  'one by name and kind alone': { resource: { kind: 'deployment', namespace: namespace!, name } },
  'one by uid': { resource: shop },
  'one of another cluster': { resource: { apiVersion, kind, namespace: namespace!, name, cluster: 'edge' } },
  'one of a whole account': { resource: { provider: 'aws', account: '123456789012', kind: 'image', id: 'ami-1' } },
  'one of a region': { resource: { provider: 'aws', region: 'us-east-1', kind: 'image', id: 'ami-1' } },
}

describe.each(Object.entries(optOuts))('%s', (_, spec) => {
  it.each(Object.entries(resources))('covers %s on the dashboard if it does so on the server', (__, resource) => {
    const { cluster = resource.provider === 'aws' ? cloudCluster(resource) : '', uid, ...rest } = resource
    const metadata = { name: rest.name, uid, ...(rest.namespace ? { namespace: rest.namespace } : {}) }
    const object = { apiVersion: rest.apiVersion, kind: rest.kind, metadata }
    const optOut = { metadata: { name: 'any' }, spec } as CleanupOptOut
    expect(ui.liveOptOut([optOut], resource, now) !== undefined).toBe(optOutCovers(spec, { object, cluster }))
  })
})

it.each([
  ['does not apply after its end', { expiresAt: '2026-11-17T11:59:59Z' }, false],
  ['applies until its end', { expiresAt: '2026-11-17T12:00:01Z' }, true],
  ['applies when its end cannot be read', { expiresAt: 'soon' }, true],
])('an opt-out %s', (_, given, expected) => {
  const optOut = { metadata: { name: 'any' }, spec: { resource: shop, ...given } } as CleanupOptOut
  expect(ui.liveOptOut([optOut], shop, now) !== undefined).toBe(expected)
})

it.each(Object.entries(resources))(
  'one opt-out for %s, by the dashboard or by the link of a notice',
  async (_, given) => expect(await ui.optOutName(given)).toBe(optOutName(given)),
)
