import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { configMap, deployment, widget, widgetDefinition } from './manifests.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl', () => {
  let session: Session
  let count = 0
  let name = ''
  beforeAll(async () => {
    session = await Session.start()
    await session.pipe('apply -f -', widgetDefinition)
  })
  beforeEach(() => void (name = `thing-${++count}`))
  afterAll(() => session?.[Symbol.asyncDispose]())

  describe('patch', () => {
    it('accepts all three types of patch for built-in kinds', async () => {
      await session.pipe('create -f -', deployment(name))
      await session.run(
        `patch deploy ${name} -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}'`,
      )
      expect(await session.run(`get deploy ${name} -o 'jsonpath={.spec.template.spec.containers[*].name}'`)).toBe(
        'side main',
      )
      await session.run(`patch deploy ${name} --type=merge -p '{"spec":{"replicas":7}}'`)
      await session.run(
        `patch deploy ${name} --type=json -p '[{"op":"test","path":"/spec/replicas","value":7},{"op":"replace","path":"/spec/replicas","value":8}]'`,
      )
      expect(await session.run(`get deploy ${name} -o jsonpath={.spec.replicas}`)).toBe('8')
      const failed = await session.attempt(
        `patch deploy ${name} --type=json -p '[{"op":"test","path":"/spec/replicas","value":7}]'`,
      )
      expect(failed.code).toBe(1)
    })

    it('refuses a strategic patch of a custom resource, as its kind has no merge keys', async () => {
      await session.pipe('create -f -', widget(name))
      const { stderr } = await session.attempt(`patch wd ${name} -p '{"spec":{"size":1}}'`)
      expect(stderr).toContain('application/strategic-merge-patch+json is not supported by example.com/v1, Kind=Widget')
      await session.run(`patch wd ${name} --type=merge -p '{"spec":{"size":1}}'`)
      expect(await session.run(`get wd ${name} -o jsonpath={.spec.size}`)).toBe('1')
    })

    it('changes the status only through the status subresource', async () => {
      await session.pipe('create -f -', widget(name))
      await session.run(`patch wd ${name} --type=merge -p '{"status":{"phase":"Lost"},"spec":{"note":"kept"}}'`)
      expect(await session.run(`get wd ${name} -o jsonpath={.status.phase}/{.spec.note}/{.metadata.generation}`)).toBe(
        '/kept/2',
      )
      await session.run(
        `patch wd ${name} --subresource=status --type=merge -p '{"status":{"phase":"Kept"},"spec":{"note":"lost"}}'`,
      )
      expect(await session.run(`get wd ${name} -o jsonpath={.status.phase}/{.spec.note}/{.metadata.generation}`)).toBe(
        'Kept/kept/2',
      )
      expect(await session.run(`get wd ${name} --subresource=status -o jsonpath={.status.phase}`)).toBe('Kept')
    })
  })

  it('scales built-in and custom kinds, and honours --current-replicas', async () => {
    await session.pipe('create -f -', deployment(name))
    await session.pipe('create -f -', widget(name))
    expect(await session.run(`scale deploy ${name} --replicas=3`)).toBe(`deployment.apps/${name} scaled\n`)
    expect(await session.run(`scale deploy ${name} --current-replicas=3 --replicas=4`)).toContain('scaled')
    expect((await session.attempt(`scale deploy ${name} --current-replicas=3 --replicas=5`)).code).toBe(1)
    expect(await session.run(`scale wd ${name} --replicas=2`)).toContain('scaled')
    expect(await session.run(`get deploy ${name} -o jsonpath={.spec.replicas}`)).toBe('4')
    expect(await session.run(`get wd ${name} -o jsonpath={.spec.replicas}`)).toBe('2')
    expect(await session.run(`get deploy ${name} --subresource=scale -o jsonpath={.kind}/{.spec.replicas}`)).toBe(
      'Scale/4',
    )
  })

  it('labels and annotates', async () => {
    await session.pipe('create -f -', configMap(name))
    expect(await session.run(`label cm ${name} a=1 b=2`)).toContain('labeled')
    expect((await session.attempt(`label cm ${name} a=3`)).stderr).toContain('--overwrite is false')
    expect(await session.run(`label cm ${name} a=3 b- --overwrite`)).toContain('modified')
    expect(await session.run(`annotate cm ${name} 'note=a b c'`)).toContain('annotated')
    expect(await session.run(`label cm --all everyone=1`)).toContain(`configmap/${name} labeled`)
    expect(JSON.parse(await session.run(`get cm ${name} -o jsonpath={.metadata.labels}`))).toEqual({
      a: '3',
      everyone: '1',
    })
    expect((await session.attempt(`label cm ${name} 'bad=not valid'`)).code).toBe(1)
  })

  it('sets parts of a pod template', async () => {
    await session.pipe('create -f -', deployment(name))
    await session.run(`set image deploy/${name} main=httpd:2`)
    await session.run(`set env deploy/${name} LEVEL=high`)
    await session.run(`set resources deploy/${name} --limits=cpu=200m,memory=64Mi`)
    await session.run(`set serviceaccount deploy ${name} default`)
    const container = JSON.parse(
      await session.run(`get deploy ${name} -o 'jsonpath={.spec.template.spec.containers[0]}'`),
    ) as unknown
    expect(container).toMatchObject({
      image: 'httpd:2',
      env: [{ name: 'LEVEL', value: 'high' }],
      resources: { limits: { cpu: '200m', memory: '64Mi' } },
    })
  })

  it('drives roll-outs', async () => {
    await session.pipe('create -f -', deployment(name))
    expect(await session.run(`rollout restart deploy ${name}`)).toContain('restarted')
    expect(await session.run(`rollout pause deploy ${name}`)).toContain('paused')
    expect((await session.attempt(`rollout pause deploy ${name}`)).stderr).toContain('already paused')
    expect(await session.run(`rollout resume deploy ${name}`)).toContain('resumed')
    expect(await session.run(`rollout history deploy ${name}`)).toContain('No rollout history found')
    // Stands in for the Deployment controller, whose status kubectl waits for.
    const generation = Number(await session.run(`get deploy ${name} -o jsonpath={.metadata.generation}`))
    const status = {
      observedGeneration: generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    }
    const waiting = session.run(`rollout status deploy ${name} --timeout=20s`)
    await session.run(`patch deploy ${name} --subresource=status --type=merge -p '${JSON.stringify({ status })}'`)
    expect(await waiting).toContain('successfully rolled out')
  })

  it('cordons and drains a node', async () => {
    await session.pipe('create -f -', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: name } },
      spec: { nodeName: 'local', containers: [{ name: 'c', image: 'i' }] },
    })
    expect(await session.run('cordon local')).toContain('cordoned')
    expect(await session.run('get node local')).toContain('Ready,SchedulingDisabled')
    const drained = session.attempt(`drain local --force --grace-period=0 --pod-selector=app=${name} --timeout=20s`)
    expect((await drained).stdout).toContain(`pod/${name} evicted`)
    expect(await session.run('uncordon local')).toContain('uncordoned')
  })
})
