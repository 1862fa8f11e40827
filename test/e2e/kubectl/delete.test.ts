import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { configMap, deployment, widget, widgetDefinition } from './manifests.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl delete and wait', () => {
  let session: Session
  let count = 0
  let name = ''
  beforeAll(async () => {
    session = await Session.start()
    await session.pipe('apply -f -', widgetDefinition)
  })
  beforeEach(() => void (name = `gone-${++count}`))
  afterAll(() => session?.[Symbol.asyncDispose]())

  it('deletes by name, by label, by file and everything', async () => {
    await session.run(`create ns ${name}`)
    for (const each of ['a', 'b', 'c', 'd']) {
      const object = configMap(each)
      await session.pipe(`create -n ${name} -f -`, {
        ...object,
        metadata: { name: each, labels: { half: each < 'c' ? 'first' : 'second' } },
      })
    }
    expect(await session.run(`delete cm a -n ${name}`)).toContain('configmap "a" deleted')
    expect(await session.run(`delete cm -l half=first -n ${name}`)).toContain('configmap "b" deleted')
    expect(await session.pipe(`delete -n ${name} -f -`, configMap('c'))).toContain('configmap "c" deleted')
    expect(await session.run(`delete cm --all -n ${name}`)).toContain('configmap "d" deleted')
    expect((await session.attempt(`delete cm a -n ${name}`)).stderr).toContain('configmaps "a" not found')
    expect(await session.run(`delete cm a -n ${name} --ignore-not-found`)).toBe('')
  })

  it('changes nothing with --dry-run', async () => {
    await session.pipe('create -f -', configMap(name))
    expect(await session.run(`delete cm ${name} --dry-run=server`)).toMatch(/deleted.* \(server dry run\)/)
    expect(await session.run(`get cm ${name} -o name`)).toContain(name)
  })

  it.each(['background', 'orphan'])('deletes with --cascade=%s', async (cascade) => {
    await session.pipe('create -f -', deployment(name))
    expect(await session.run(`delete deploy ${name} --cascade=${cascade} --wait=false`)).toContain('deleted')
  })

  it('waits for finalizers', async () => {
    await session.pipe('create -f -', { ...configMap(name), metadata: { name, finalizers: ['example.com/hold'] } })
    const { stderr, code } = await session.attempt(`delete cm ${name} --timeout=1s`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('timed out waiting for the condition')])
    expect(await session.run(`get cm ${name} -o jsonpath={.metadata.deletionTimestamp}`)).toMatch(/Z$/)
    const waiting = session.run(`wait --for=delete cm/${name} --timeout=20s`)
    await session.run(`patch cm ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`)
    await waiting
    expect((await session.attempt(`get cm ${name}`)).stderr).toContain('not found')
  })

  it('waits for conditions, fields and creation', async () => {
    const created = session.run(`wait --for=create wd/${name} --timeout=20s`)
    await session.pipe('create -f -', widget(name))
    expect(await created).toContain('condition met')
    const ready = session.run(`wait --for=condition=Ready wd/${name} --timeout=20s`)
    const phase = session.run(`wait --for=jsonpath={.status.phase}=Done wd/${name} --timeout=20s`)
    await session.run(
      `patch wd ${name} --subresource=status --type=merge -p '{"status":{"phase":"Done","conditions":[{"type":"Ready","status":"True"}]}}'`,
    )
    expect(await ready).toContain('condition met')
    expect(await phase).toContain('condition met')
    expect((await session.attempt(`wait --for=condition=Never wd/${name} --timeout=1s`)).code).toBe(1)
  })

  it('deletes the contents of a namespace before the namespace', async () => {
    await session.run(`create ns ${name}`)
    await session.pipe(`create -n ${name} -f -`, widget('w'))
    await session.pipe(`create -n ${name} -f -`, deployment('d'))
    await session.pipe(`create -n ${name} -f -`, {
      ...configMap('held'),
      metadata: { name: 'held', finalizers: ['example.com/hold'] },
    })
    const deleting = session.run(`delete ns ${name}`)
    await session.run(`wait --for=jsonpath={.status.phase}=Terminating ns/${name} --timeout=20s`)
    await session.run(
      `wait '--for=jsonpath={.status.conditions[?(@.type=="NamespaceContentRemaining")].status}=True' ns/${name} --timeout=20s`,
    )
    const { stderr } = await session.attempt(`create cm late -n ${name}`)
    expect(stderr).toContain(`unable to create new content in namespace ${name} because it is being terminated`)
    expect(await session.run(`get deploy,wd -n ${name} -o name`)).toBe('')
    await session.run(`patch cm held -n ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`)
    expect(await deleting).toContain('deleted')
    expect((await session.attempt(`get ns ${name}`)).stderr).toContain('not found')
  })

  it('refuses to delete the system namespaces', async () => {
    for (const each of ['default', 'kube-system', 'kube-public']) {
      expect((await session.attempt(`delete ns ${each}`)).stderr).toContain('this namespace may not be deleted')
    }
  })

  it('creates the defaults of a namespace and recreates them', async () => {
    await session.run(`create ns ${name}`)
    await session.run(`wait --for=create sa/default -n ${name} --timeout=20s`)
    await session.run(`delete cm kube-root-ca.crt -n ${name} --wait=false`)
    await session.run(`wait --for=create cm/kube-root-ca.crt -n ${name} --timeout=20s`)
    const published = await session.run(`get cm kube-root-ca.crt -n ${name} -o 'jsonpath={.data.ca\\.crt}'`)
    expect(published).toBe(session.server.credentials.authority)
  })

  it('removes the instances of a kind with its definition', async () => {
    await session.pipe('create -f -', widget(name))
    expect(await session.run('delete crd widgets.example.com')).toContain('deleted')
    expect((await session.attempt('get wd')).stderr).toContain('could not find the requested resource')
    await session.pipe('apply -f -', widgetDefinition)
    expect((await session.attempt('get wd')).stderr).toContain('No resources found')
  })
})
