import { afterAll, beforeAll, expect, it } from 'vitest'
import { configMap, deployment, widget, widgetDefinition } from './manifests.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl get', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start()
    await session.run('create ns shop')
    await session.pipe('create -n shop -f -', {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        ...['cherry', 'apple', 'banana'].map((name, index) => {
          const object = configMap(name, { n: String(index) })
          return { ...object, metadata: { ...object.metadata, labels: { fruit: name, tier: 'food' } } }
        }),
        deployment('web', { replicas: 2 }),
      ],
    })
    await session.pipe('apply -f -', widgetDefinition)
    await session.pipe('apply -n shop -f -', widget('w1', 7))
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  it('shows tables with Kubernetes’ usual columns', async () => {
    expect(await session.run('get ns')).toMatch(/^NAME +STATUS +AGE\n/)
    expect(await session.run('get deploy -n shop')).toMatch(
      /NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2 +0 +0 +\d+s/,
    )
    expect(await session.run('get cm -n shop')).toMatch(/apple +1 +\d+s/)
    expect(await session.run('get nodes')).toMatch(/local +Ready +control-plane/)
  })

  it('shows the wide columns only when asked', async () => {
    expect(await session.run('get deploy -n shop')).not.toContain('IMAGES')
    expect(await session.run('get deploy -n shop -o wide')).toMatch(
      /CONTAINERS +IMAGES +SELECTOR\n.*main +nginx:1 +app=web/,
    )
    expect(await session.run('get wd -n shop -o wide')).toMatch(/NAME +SIZE +READY +NOTE +AGE\nw1 +7 +hello/)
  })

  it('shows all namespaces, labels as columns, and all labels', async () => {
    expect(await session.run('get cm -A')).toMatch(/shop +apple/)
    expect(await session.run('get cm -n shop -L fruit apple')).toMatch(/FRUIT\napple.*apple\n/)
    expect(await session.run('get cm -n shop apple --show-labels')).toContain('fruit=apple,tier=food')
  })

  it('sorts by a field of the whole object', async () => {
    const sorted = await session.run('get cm -n shop --sort-by={.data.n} -o name')
    expect(sorted.split('\n').filter((line) => /cherry|apple|banana/.test(line))).toEqual([
      'configmap/cherry',
      'configmap/apple',
      'configmap/banana',
    ])
    expect(await session.run('get cm -n shop --sort-by=.metadata.name')).toMatch(/apple[^]*banana[^]*cherry/)
  })

  it('prints whole objects', async () => {
    expect(JSON.parse(await session.run('get cm apple -n shop -o json'))).toMatchObject({
      kind: 'ConfigMap',
      data: { n: '1' },
    })
    expect(await session.run('get cm apple -n shop -o yaml')).toContain('fruit: apple')
    expect(await session.run('get cm -n shop -l fruit=apple -o name')).toBe('configmap/apple\n')
    expect(await session.run('get cm apple -n shop -o custom-columns=N:.data.n')).toBe('N\n1\n')
    expect(await session.run('get cm apple -n shop -o jsonpath={.data.n}')).toBe('1')
  })

  it('pages through long lists', async () => {
    const names = await session.run('get cm -n shop --chunk-size=1 -o name')
    expect(names.trim().split('\n')).toEqual([
      'configmap/apple',
      'configmap/banana',
      'configmap/cherry',
      'configmap/kube-root-ca.crt',
    ])
    expect(await session.run('get cm -n shop --chunk-size=2')).toMatch(/apple[^]*banana[^]*cherry/)
  })

  it('filters by labels and fields on the server', async () => {
    expect(await session.run(`get cm -n shop -l 'fruit in (apple,cherry),tier!=drink' -o name`)).toBe(
      'configmap/apple\nconfigmap/cherry\n',
    )
    expect(await session.run('get cm -n shop --field-selector metadata.name=banana -o name')).toBe('configmap/banana\n')
    const { stderr } = await session.attempt('get cm -n shop --field-selector spec.x=1')
    expect(stderr).toContain('"spec.x" is not a known field selector')
  })

  it('watches, as tables and as objects', async () => {
    const stop = new AbortController()
    const steps = [
      { on: /ADDED +apple/, act: () => session.run('create cm later -n shop') },
      { on: /ADDED +later/, act: () => session.run('delete cm later -n shop --wait=false') },
      { on: /DELETED +later/, act: async () => stop.abort() },
    ]
    const seen = session.attempt('get cm -n shop -w --output-watch-events', {
      signal: stop.signal,
      onOutput: (text) => {
        if (steps[0]?.on.test(text)) void steps.shift()?.act()
      },
    })
    expect((await seen).stdout).toMatch(/EVENT +NAME +DATA +AGE\n[^]*ADDED +later +0[^]*DELETED +later +0/)
  })

  it('watches without a list with --watch-only', async () => {
    const stop = new AbortController()
    const seen = session.attempt('get cm -n shop --watch-only -o name', {
      signal: stop.signal,
      onOutput: (text) => text.includes('fresh') && stop.abort(),
    })
    // The list before the watch leaves no trace on the output, so keep writing until the watch has begun.
    for (let round = 0; !stop.signal.aborted && round < 100; round++) {
      await session.run('create cm fresh -n shop')
      await session.run('delete cm fresh -n shop --wait=false')
    }
    const { stdout } = await seen
    expect(stdout).toContain('configmap/fresh')
    expect(stdout).not.toContain('apple')
  })

  it('describes objects with their Events and dependents', async () => {
    await session.pipe('create -n shop -f -', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'web.1' },
      involvedObject: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: 'web',
        namespace: 'shop',
        uid: await session.run('get deploy web -n shop -o jsonpath={.metadata.uid}'),
      },
      reason: 'Noticed',
      message: 'a test noticed it',
      type: 'Normal',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      source: { component: 'test' },
    })
    const description = await session.run('describe deploy web -n shop')
    expect(description).toMatch(/Replicas: +2 desired/)
    expect(description).toContain('a test noticed it')
    expect(await session.run('describe ns shop')).toContain('No resource quota.')
    expect(await session.run('describe wd w1 -n shop')).toMatch(/Size: +7/)
    expect(await session.run('events -n shop')).toMatch(/Noticed +Deployment\/web +a test noticed it/)
    expect(await session.run('get events -n shop')).toMatch(/Normal +Noticed +deployment\/web/)
  })

  it('gets everything of a category, custom kinds included', async () => {
    const all = await session.run('get all -n shop')
    expect(all).toContain('deployment.apps/web')
    expect(all).toContain('widget.example.com/w1')
  })

  it('reports missing objects in the words that scripts match on', async () => {
    expect((await session.attempt('get cm nope -n shop')).stderr).toBe(
      'Error from server (NotFound): configmaps "nope" not found\n',
    )
    expect((await session.attempt('get nope')).stderr).toContain(`the server doesn't have a resource type "nope"`)
    expect((await session.attempt('get cm -n nowhere')).stderr).toBe('No resources found in nowhere namespace.\n')
    expect(await session.run('get cm nope -n shop --ignore-not-found')).toBe('')
  })
})
