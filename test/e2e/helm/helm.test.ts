import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith, Session } from '../kubectl/session.ts'
import { pretendControllers } from './pretend-controllers.ts'

const chart = join(import.meta.dirname, 'chart')

await describeWith(['helm'], 'helm', () => {
  let session: Session
  let controllers: Promise<void>
  const stop = new AbortController()
  beforeAll(async () => {
    session = await Session.start('helm')
    controllers = pretendControllers(session.server.transport, stop.signal)
  })
  afterAll(async () => {
    stop.abort()
    await controllers
    await session?.[Symbol.asyncDispose]()
  })

  const get = async (path: string) => {
    const { status, body } = await session.server.transport({ method: 'GET', path })
    return status === 200 ? (body as Record<string, Record<string, unknown>>) : undefined
  }
  const configMap = (name: string) => get(`/api/v1/namespaces/shop/configmaps/${name}`)

  it('installs a chart with a definition and a hook, and waits for it', async () => {
    const output = await session.run(`install preview ${chart} -n shop --create-namespace --wait --timeout=60s`)
    expect(output).toContain('STATUS: deployed')
    expect((await configMap('preview'))?.['data']).toEqual({ greeting: 'hello' })
    expect(await get('/apis/example.com/v1/namespaces/shop/visits/preview')).toMatchObject({ spec: { guest: 'hello' } })
    expect(await get('/apis/batch/v1/namespaces/shop/jobs/preview-hook')).toMatchObject({ status: { succeeded: 1 } })
  })

  it('records helm as the field manager', async () => {
    const deployment = await get('/apis/apps/v1/namespaces/shop/deployments/preview')
    expect(deployment?.['metadata']?.['managedFields']).toMatchObject([
      { manager: 'helm', operation: 'Apply' },
      { operation: 'Update', subresource: 'status' },
    ])
  })

  it('upgrades a release, with added and changed objects', async () => {
    await session.run(
      `upgrade preview ${chart} -n shop --set greeting=salut,replicas=3,extra=more --wait --timeout=60s`,
    )
    expect((await configMap('preview'))?.['data']).toEqual({ greeting: 'salut' })
    expect((await configMap('preview-extra'))?.['data']).toEqual({ extra: 'more' })
    expect(await get('/apis/apps/v1/namespaces/shop/deployments/preview')).toMatchObject({ spec: { replicas: 3 } })
  })

  it('shows releases, history, values and status', async () => {
    expect(await session.run('list -n shop')).toMatch(/preview\s+shop\s+2\s+.*deployed\s+preview-0.1.0/)
    expect(await session.run('history preview -n shop')).toMatch(/1\s+.*superseded[^]*2\s+.*deployed/)
    expect(await session.run('get values preview -n shop')).toContain('greeting: salut')
    expect(await session.run('status preview -n shop')).toContain('STATUS: deployed')
  })

  it('rolls back, removing what the older revision did not have', async () => {
    expect(await session.run('rollback preview 1 -n shop --wait --timeout=60s')).toContain('Rollback was a success')
    expect((await configMap('preview'))?.['data']).toEqual({ greeting: 'hello' })
    expect(await configMap('preview-extra')).toBeUndefined()
  })

  it('changes nothing in a dry run', async () => {
    await session.run(`upgrade preview ${chart} -n shop --set greeting=dry --dry-run=server`)
    expect((await configMap('preview'))?.['data']).toEqual({ greeting: 'hello' })
  })

  it('uninstalls everything but the definition', async () => {
    expect(await session.run('uninstall preview -n shop --wait --timeout=60s')).toContain('uninstalled')
    expect(await configMap('preview')).toBeUndefined()
    expect(await get('/apis/apps/v1/namespaces/shop/deployments/preview')).toBeUndefined()
    expect(await get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/visits.example.com')).toBeDefined()
    expect((await get('/api/v1/namespaces/shop/secrets'))?.['items']).toEqual([])
  })

  it('stores releases near the size limit of an object', async () => {
    const filler = Array.from({ length: 20_000 }, (_, index) => `line ${index}: ${(index * 7919) % 100_003}`).join('\n')
    const values = session.file('values.yaml', `extra: ${JSON.stringify(filler)}\n`)
    const { code, stderr } = await session.attempt(
      `install large ${chart} -n shop -f ${values} --no-hooks --timeout=60s`,
    )
    expect([code, stderr]).toEqual([0, expect.any(String)])
    expect((await configMap('large-extra'))?.['data']?.['extra']).toHaveLength(filler.length)
  })
})
