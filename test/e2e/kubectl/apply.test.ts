import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configMap, deployment, widget, widgetDefinition } from './manifests.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl apply', () => {
  let session: Session
  let count = 0
  let name = ''
  beforeAll(async () => {
    session = await Session.start()
    await session.pipe('apply -f -', widgetDefinition)
  })
  beforeEach(() => void (name = `app-${++count}`))
  afterAll(() => session?.[Symbol.asyncDispose]())

  const containers = (...images: [string, string][]) => ({
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: images.map(([container, image]) => ({ name: container, image })) },
    },
  })

  it('creates, configures, and reports unchanged objects', async () => {
    expect(await session.pipe('apply -f -', deployment(name))).toBe(`deployment.apps/${name} created\n`)
    expect(await session.pipe('apply -f -', deployment(name, { replicas: 3 }))).toBe(
      `deployment.apps/${name} configured\n`,
    )
    const version = await session.run(`get deploy ${name} -o jsonpath={.metadata.resourceVersion}`)
    expect(await session.pipe('apply -f -', deployment(name, { replicas: 3 }))).toBe(
      `deployment.apps/${name} unchanged\n`,
    )
    expect(await session.run(`get deploy ${name} -o jsonpath={.metadata.resourceVersion}`)).toBe(version)
  })

  it('merges lists by their keys and removes entries that the file no longer has', async () => {
    await session.pipe('apply -f -', deployment(name, containers(['a', 'x:1'], ['b', 'x:1'])))
    await session.pipe('apply -f -', deployment(name, containers(['b', 'x:2'], ['c', 'x:1'])))
    const images = await session.run(
      `get deploy ${name} -o 'jsonpath={range .spec.template.spec.containers[*]}{.name}={.image} {end}'`,
    )
    expect(images).toBe('b=x:2 c=x:1 ')
  })

  it('keeps fields that other clients set', async () => {
    await session.pipe('apply -f -', configMap(name, { ours: '1' }))
    await session.run(`patch cm ${name} --type=merge -p '{"data":{"theirs":"2"}}'`)
    await session.pipe('apply -f -', configMap(name, { ours: '3' }))
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ ours: '3', theirs: '2' })
  })

  it('applies custom resources', async () => {
    expect(await session.pipe('apply -f -', widget(name, 1))).toBe(`widget.example.com/${name} created\n`)
    expect(await session.pipe('apply -f -', widget(name, 2))).toBe(`widget.example.com/${name} configured\n`)
    expect(await session.pipe('apply -f -', widget(name, 2))).toBe(`widget.example.com/${name} unchanged\n`)
    const { stderr } = await session.attempt('apply -f -', { stdin: JSON.stringify(widget(name, 99)) })
    expect(stderr).toContain('spec.size: Invalid value: 99: spec.size in body should be less than or equal to 9')
  })

  it('shows the difference without making it', async () => {
    await session.pipe('apply -f -', deployment(name))
    const { code, stdout } = await session.attempt('diff -f -', {
      stdin: JSON.stringify(deployment(name, { replicas: 5 })),
    })
    expect(code).toBe(1)
    expect(stdout).toMatch(/-\s+replicas: 1\n\+\s+replicas: 5/)
    expect(await session.run(`get deploy ${name} -o jsonpath={.spec.replicas}`)).toBe('1')
    expect((await session.attempt('diff -f -', { stdin: JSON.stringify(deployment(name)) })).code).toBe(0)
    const fresh = await session.attempt('diff -f -', { stdin: JSON.stringify(configMap(`${name}-new`)) })
    expect(fresh).toMatchObject({ code: 1, stdout: expect.stringContaining('+kind: ConfigMap') as string })
  })

  it('applies on the server, and tells managers apart', async () => {
    await session.pipe('apply --server-side --field-manager=one -f -', configMap(name, { a: '1' }))
    await session.pipe('apply --server-side --field-manager=two -f -', configMap(name, { b: '2' }))
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ a: '1', b: '2' })
    const { code, stderr } = await session.attempt('apply --server-side --field-manager=two -f -', {
      stdin: JSON.stringify(configMap(name, { a: 'stolen', b: '2' })),
    })
    expect(code).toBe(1)
    expect(stderr).toContain('Apply failed with 1 conflict: conflict with "one": .data.a')
    await session.pipe(
      'apply --server-side --field-manager=two --force-conflicts -f -',
      configMap(name, { a: 'stolen', b: '2' }),
    )
    await session.pipe('apply --server-side --field-manager=one -f -', { ...configMap(name), data: {} })
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ a: 'stolen', b: '2' })
    await session.pipe('apply --server-side --field-manager=two -f -', configMap(name, { b: '2' }))
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ b: '2' })
  })

  it('migrates from client-side to server-side apply and still removes fields', async () => {
    await session.pipe('apply -f -', configMap(name, { a: '1', b: '2' }))
    await session.pipe('apply --server-side -f -', configMap(name, { a: '1' }))
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ a: '1' })
    const managers = await session.run(
      `get cm ${name} --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}'`,
    )
    expect(managers).toBe('kubectl-last-applied kubectl')
  })

  it('prunes objects that are no longer in the set', async () => {
    const labelled = (object: ReturnType<typeof configMap>) => ({
      ...object,
      metadata: { ...object.metadata, labels: { set: name } },
    })
    await session.pipe(`apply -l set=${name} --prune --prune-allowlist=core/v1/ConfigMap -f -`, {
      apiVersion: 'v1',
      kind: 'List',
      items: [labelled(configMap(`${name}-a`)), labelled(configMap(`${name}-b`))],
    })
    const pruned = await session.pipe(`apply -l set=${name} --prune --prune-allowlist=core/v1/ConfigMap -f -`, {
      apiVersion: 'v1',
      kind: 'List',
      items: [labelled(configMap(`${name}-a`))],
    })
    expect(pruned).toContain(`configmap/${name}-b pruned`)
  })

  it('edits with an editor, built-in and custom', async () => {
    await session.pipe('apply -f -', deployment(name))
    await session.pipe('apply -f -', widget(name, 3))
    const env = (script: string) => ({ env: { KUBE_EDITOR: `sed -i ${script}` } })
    expect(await session.run(`edit deploy ${name}`, env('s/replicas:.1/replicas:\\ 4/'))).toBe(
      `deployment.apps/${name} edited\n`,
    )
    expect(await session.run(`edit wd ${name}`, env('s/size:.3/size:\\ 8/'))).toBe(
      `widget.example.com/${name} edited\n`,
    )
    expect(await session.run(`get deploy ${name} -o jsonpath={.spec.replicas}`)).toBe('4')
    expect(await session.run(`get wd ${name} -o jsonpath={.spec.size}`)).toBe('8')
    expect((await session.attempt(`edit wd ${name}`, { env: { KUBE_EDITOR: 'true' } })).stderr).toContain(
      'no changes made',
    )
  })

  it('replaces, and refuses to replace an older version', async () => {
    await session.pipe('create -f -', configMap(name, { a: '1' }))
    const old = await session.run(`get cm ${name} -o json`)
    expect(await session.pipe('replace -f -', configMap(name, { b: '2' }))).toBe(`configmap/${name} replaced\n`)
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.data}`))).toEqual({ b: '2' })
    const { stderr } = await session.attempt('replace -f -', { stdin: old })
    expect(stderr).toContain(
      'the object has been modified; please apply your changes to the latest version and try again',
    )
    expect(await session.pipe('replace --force -f -', configMap(name, { c: '3' }))).toContain('replaced')
  })
})
