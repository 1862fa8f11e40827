import { afterAll, beforeAll, expect, it } from 'vitest'
import { widgetDefinition } from './manifests.ts'
import { bigDefinition } from './big-definition.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl discovery', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start()
    await session.pipe('apply -f -', widgetDefinition)
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  it('lists kinds and versions', async () => {
    const resources = await session.run('api-resources')
    expect(resources).toMatch(/deployments +deploy +apps\/v1 +true +Deployment/)
    expect(resources).toMatch(/widgets +wd +example.com\/v1 +true +Widget/)
    expect(await session.run('api-resources --namespaced=false -o name')).toContain('namespaces\n')
    expect(await session.run('api-resources --verbs=deletecollection --api-group=apps -o name')).toContain(
      'deployments.apps',
    )
    expect((await session.run('api-versions')).split('\n')).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'autoscaling/v2', 'example.com/v1']),
    )
  })

  it('sees a new kind at once, and its removal too', async () => {
    const gadget = JSON.parse(
      JSON.stringify(widgetDefinition)
        .replaceAll('idget', 'adget')
        .replaceAll('"wd"', '"gd"')
        .replaceAll('"Wadget', '"Gadget')
        .replaceAll('wadget', 'gadget'),
    ) as unknown
    await session.pipe('create -f -', gadget)
    expect((await session.attempt('get gd')).stderr).toContain('No resources found')
    await session.run('delete crd gadgets.example.com')
    expect((await session.attempt('get gd --cache-dir=/nonexistent')).stderr).toContain(
      `the server doesn't have a resource type "gd"`,
    )
  })

  it('explains kinds', async () => {
    expect(await session.run('explain deploy.spec.strategy')).toMatch(/KIND: +Deployment[^]*rollingUpdate/)
    const explained = await session.run('explain wd.spec')
    expect(explained).toContain('How big it is.')
    expect(explained).toMatch(/size.*-required-/)
    expect(await session.run('explain wd')).toContain('A widget is a thing that has a size.')
    expect(await session.run('explain pods --recursive')).toContain('imagePullPolicy')
  })

  it('says which server it talks to', async () => {
    expect(await session.run('version')).toMatch(/Server Version: v1\.\d+\.\d+/)
    expect(await session.run('cluster-info')).toContain(session.url)
    expect(await session.run('get --raw /readyz?verbose')).toContain('readyz check passed')
  })

  it('accepts CRDs as large as those of well-known projects', async () => {
    const big = bigDefinition()
    const size = JSON.stringify(big).length
    expect(size).toBeGreaterThan(300_000)
    expect(await session.pipe('create -f -', big)).toContain('created')
    expect(await session.pipe('apply --server-side --force-conflicts -f -', big)).toContain('serverside-applied')
    await session.run('wait --for=condition=Established crd/bigs.example.com --timeout=20s')
    expect(await session.run('explain big.spec.section7')).toContain('option3')
    const instance = {
      apiVersion: 'example.com/v1',
      kind: 'Big',
      metadata: { name: 'b' },
      spec: { section7: { option3: { mode: 'Fast', items: [{ key: 'k', value: 'v' }] } } },
    }
    expect(await session.pipe('apply -f -', instance)).toContain('created')
    const wrong = { ...instance, spec: { section7: { option3: { mode: 'Slow' } } } }
    const { stderr } = await session.attempt('apply -f -', { stdin: JSON.stringify(wrong) })
    expect(stderr).toContain('spec.section7.option3.mode: Unsupported value: "Slow"')
  })
})
