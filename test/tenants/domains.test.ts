import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configMaps, services } from '../../src/kube/core-types.ts'
import { findCondition, type Condition } from '../../src/kube/conditions.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { refTo } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

/** A Service that claims domains at the proxy, and the Deployment behind it. */
function claim(namespace: string, name: string, domains: string): readonly KubeObject[] {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
  const annotations = { 'proxless/domains': domains, 'proxless/deployment': name }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace, name },
      spec: { replicas: 0, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name, annotations },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  ]
}

describe.each(worlds)('domains of Services: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => void (world = await start({ roles: ['activator'] })))
  afterAll(() => world?.[Symbol.asyncDispose]())

  async function apply(user: 'tenant' | 'neighbour', name: string, domains: string): Promise<void> {
    for (const manifest of claim(user === 'tenant' ? 'a' : 'b', name, domains)) await world.create(user, manifest)
  }

  /** How many domains are stored for namespace a. */
  const heldByTenant = async () => (await stored()).match(/\\"namespace\\":\\"a\\"/g)?.length ?? 0
  const stored = async () => {
    const { items } = await world.as('administrator').list(configMaps, { namespace: 'sojourn-system' })
    return JSON.stringify(items)
  }

  it('146: a tenant with very many domains leaves room for those of others, and is told', async () => {
    const hosts = Array.from({ length: 20_000 }, (_, index) => `h${index}.c`).join()
    await apply('tenant', 'c146', hosts)
    const wrong = await until(() => condition('a', 'c146', 'sojourn.dev/OnDemand'))
    expect(wrong.message).toContain('only the first 100 count')
    for (let service = 0; service < 6; service++) {
      const more = Array.from({ length: 100 }, (_, index) => `s${service}-${index}.example.org`).join()
      await apply('tenant', `c146-${service}`, more)
    }
    await apply('neighbour', 'c146', 'c146.example.org')
    await claimed('c146.example.org')
    expect(await heldByTenant()).toBeLessThanOrEqual(500)
    expect((await stored()).match(/\\"name\\":\\"c146\\",\\"uid/g)?.length ?? 0).toBeLessThanOrEqual(101)
  })

  const condition = async (namespace: string, name: string, type: string) => {
    const found = await world.get(refTo(namespace, name, 'Service'))
    return findCondition((found?.status as { conditions?: readonly Condition[] } | undefined)?.conditions, type)
  }
  const claimed = (host: string) => until(async () => (await stored()).includes(`\\"${host}\\"`) || undefined)
  /** Waits until both Services are told of the conflict; what the later one is told. */
  const isLost = async (name: string) => {
    const lost = await until(() => condition('a', name, 'sojourn.dev/DomainConflict'))
    await until(() => condition('b', name, 'sojourn.dev/DomainConflict'))
    expect(JSON.stringify(lost)).not.toMatch(/\bb\//)
    return lost.status
  }

  it('76: an older Service that is annotated later does not take a domain over', async () => {
    await apply('tenant', 'c76', '')
    await apply('neighbour', 'c76', 'c76.example.org')
    await claimed('c76.example.org')
    const body = { metadata: { annotations: { 'proxless/domains': 'c76.example.org' } } }
    await world.as('tenant').patch(services, { namespace: 'a', name: 'c76' }, { type: 'merge', body })
    expect(await isLost('c76')).toBe('True')
  })

  it('80: a domain is not taken while its Service is replaced', async () => {
    await apply('neighbour', 'c80', 'c80.example.org')
    await claimed('c80.example.org')
    await world.as('neighbour').deleteObject(services, { namespace: 'b', name: 'c80' }, {})
    await apply('tenant', 'c80', 'c80.example.org')
    const lost = await until(() => condition('a', 'c80', 'sojourn.dev/DomainConflict'))
    expect(lost.status).toBe('True')
  })

  it('81: a name inside the cluster belongs to its namespace', async () => {
    await apply('tenant', 'c81', 'web.b.svc.cluster.local')
    const lost = await until(() => condition('a', 'c81', 'sojourn.dev/DomainConflict'))
    expect(lost.status).toBe('True')
  })

  it.each([
    ['77: a wildcard over a host', 'c77.example.net', '*.example.net'],
    ['78: a host under a wildcard', '*.c78.example.org', 'x.c78.example.org'],
    ['79: capitals', 'c79.example.org', 'C79.Example.ORG'],
    ['79: a dot at the end', 'c79-dot.example.org', 'c79-dot.example.org.'],
    ['79: a port', 'c79-port.example.org', 'c79-port.example.org:8080'],
    ['79: letters beyond ASCII', 'xn--bcher-kva.example.org', 'BÜCHER.example.org'],
    ['79: full-width letters', 'c79-wide.example.org', 'ｃ79-wide.example.org'],
  ])('%s of another namespace is refused', async (attack, first, second) => {
    const name = `c${attack.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
    await apply('neighbour', name, first)
    await claimed(first)
    await apply('tenant', name, second)
    expect(await isLost(name)).toBe('True')
  })
})
