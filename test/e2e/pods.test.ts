import { configMaps, nodes, pods } from '../../src/kube/core-types.ts'
import { StatusError } from '../../src/kube/status-error.ts'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Container, type Pod, type Probe } from '../../src/workloads/types.ts'
import { isAlive, isReady, pidOf, startNodeWorld, until, type NodeWorld } from '../node-world.ts'

let world: NodeWorld

beforeEach(async () => {
  world = await startNodeWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const file = (name: string) => join(world.directory, name)
const remove = (name: string, gracePeriodSeconds?: number) =>
  world.client.deleteObject(
    pods,
    { namespace: 'team', name },
    gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
  )
const whenReady = (name: string) =>
  until(async () => {
    const pod = await world.pod(name)
    return pod && isReady(pod) && pod
  })
const isGone = (name: string) => until(async () => (await world.pod(name)) === undefined)
/** A container that does this when it is asked to end, and is ready once it can. */
const ending = (goodbye: string): Partial<Container> => ({
  command: ['sh', '-c', `trap '${goodbye}' TERM; touch ${file('prepared')}; while true; do sleep 0.05; done`],
  readinessProbe: { exec: { command: ['test', '-e', file('prepared')] }, periodSeconds: 1 },
})
/** Takes no notice of being asked to end. */
const stubborn = () => ending('')

async function said(pod: Pod, container = 'c', previous = false): Promise<string> {
  let all = ''
  for await (const chunk of world.node.logs(pod, container, { timestamps: false, follow: false, previous }))
    all += chunk
  return all
}

describe('the termination of a Pod', () => {
  it('starts with SIGTERM, and SIGKILL follows after the grace period', async () => {
    await world.start('p', ending(`echo bye > ${file('bye')}; exit 0`))
    await whenReady('p')
    await remove('p')
    await isGone('p')
    expect(readFileSync(file('bye'), 'utf8')).toBe('bye\n')
  })

  it('follows the grace period of the deletion rather than that of the Pod', async () => {
    await world.start('p', stubborn(), { terminationGracePeriodSeconds: 600 })
    const pid = pidOf(await whenReady('p'))
    await remove('p', 1)
    await isGone('p')
    expect(isAlive(pid)).toBe(false)
  })

  it('can be shortened by a second deletion', async () => {
    await world.start('p', stubborn(), { terminationGracePeriodSeconds: 600 })
    const pid = pidOf(await whenReady('p'))
    await remove('p')
    await until(async () => (await world.pod('p'))?.metadata.deletionTimestamp)
    await remove('p', 1)
    await isGone('p')
    expect(isAlive(pid)).toBe(false)
  })

  it('is not shortened by a change to the Pod', async () => {
    await world.start('p', stubborn(), { terminationGracePeriodSeconds: 600 })
    const pid = pidOf(await whenReady('p'))
    await remove('p')
    await world.client.patch(
      pods,
      { namespace: 'team', name: 'p' },
      { type: 'merge', body: { metadata: { labels: { seen: 'yes' } } } },
    )
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(isAlive(pid)).toBe(true)
    await remove('p', 0)
    await until(() => !isAlive(pid))
  })

  it('is not delayed by changes to the Pod either', async () => {
    await world.start('p', stubborn(), { terminationGracePeriodSeconds: 1 })
    const pid = pidOf(await whenReady('p'))
    await remove('p')
    await until(async () => {
      const body = { metadata: { labels: { seen: String(performance.now()) } } }
      return world.client.patch(pods, { namespace: 'team', name: 'p' }, { type: 'merge', body }).then(
        () => false,
        () => true,
      )
    })
    expect(isAlive(pid)).toBe(false)
  })

  it('begins with preStop', async () => {
    const preStop = { exec: { command: ['sh', '-c', `echo "$NAME" > ${file('stopping')}; sleep 0.2`] } }
    const order = ending(`cat ${file('stopping')} > ${file('last')}; exit 0`)
    const env = [{ name: 'NAME', value: 'of its container' }]
    await world.start('p', { ...order, env, lifecycle: { preStop } })
    await whenReady('p')
    await remove('p')
    await isGone('p')
    expect(readFileSync(file('last'), 'utf8')).toBe('of its container\n')
  })
})

describe('a Pod with a deadline', () => {
  it('fails once it was active for longer, and its processes end', async () => {
    await world.start('p', { command: ['sleep', '1000'] }, { activeDeadlineSeconds: 600 })
    const pid = pidOf(await whenReady('p'))
    const body = { spec: { activeDeadlineSeconds: 1 } }
    await world.client.patch(pods, { namespace: 'team', name: 'p' }, { type: 'merge', body })
    const failed = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Failed' && !isAlive(pid) && found
    })
    expect(failed?.status).toMatchObject({ reason: 'DeadlineExceeded' })
  })
})

describe('the start of a Pod', () => {
  it('is not complete before postStart has finished', async () => {
    const postStart = { exec: { command: ['sh', '-c', `until [ -e ${file('go')} ]; do sleep 0.05; done`] } }
    await world.start('p', { command: ['sleep', '1000'], lifecycle: { postStart } })
    await until(async () => (await world.pod('p'))?.status?.phase === 'Running')
    expect(isReady((await world.pod('p'))!)).toBe(false)
    await world.start('q', { command: ['touch', file('go')] }, { restartPolicy: 'Never' })
    await whenReady('p')
  })

  it('is repeated when postStart fails', async () => {
    const postStart = { exec: { command: ['false'] } }
    await world.start('p', { command: ['sleep', '1000'], lifecycle: { postStart } })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return (found?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0 && found
    })
    expect(pod?.status?.containerStatuses?.[0]?.lastState?.terminated?.signal).toBe(15)
  })

  it('waits for its init containers in their order, and for its sidecars to be up', async () => {
    const note = (word: string) => ['sh', '-c', `echo ${word} >> ${file('order')}`]
    const stay = ['sh', '-c', `echo sidecar >> ${file('order')}; exec sleep 1000`]
    const startupProbe = { exec: { command: ['grep', 'sidecar', file('order')] }, periodSeconds: 1 }
    await world.start(
      'p',
      { command: note('main') },
      {
        restartPolicy: 'Never',
        initContainers: [
          { name: 'one', image: 'none', command: note('one') },
          { name: 'beside', image: 'none', restartPolicy: 'Always', command: stay, startupProbe },
          { name: 'two', image: 'none', command: note('two') },
        ],
      },
    )
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Succeeded' && found
    })
    expect(readFileSync(file('order'), 'utf8').split('\n').slice(0, -1)).toEqual(['one', 'sidecar', 'two', 'main'])
    // The sidecar has been ended with the last container.
    const beside = () => world.pod('p').then((found) => found?.status?.initContainerStatuses?.[1])
    await until(async () => (await beside())?.state.terminated)
    expect(pod?.status?.initContainerStatuses?.map(({ name }) => name)).toEqual(['one', 'beside', 'two'])
    expect(pod?.status?.initContainerStatuses?.map(({ ready }) => ready)).toEqual([true, expect.anything(), true])
  })

  it('has the environment that its spec describes', async () => {
    await world.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm', namespace: 'team' },
      data: { a: 'from map' },
    })
    await world.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'team' },
      stringData: { b: 'from secret' },
    })
    await world.start(
      'p',
      {
        command: ['sh', '-c', 'echo "$A|$B|$POD|$CPU|$MIB|$LABEL|$X|$Y|$HOSTNAME"; echo $0', '$(A) $$(A) $(NONE)'],
        resources: { limits: { cpu: '1500m', memory: '64Mi' } },
        envFrom: [{ prefix: 'M_', configMapRef: { name: 'm' } }],
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key: 'a' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'b' } } },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'MIB', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
          { name: 'X', value: '$(M_a)!' },
          { name: 'Y', valueFrom: { configMapKeyRef: { name: 'none', key: 'y', optional: true } } },
        ],
      },
      { restartPolicy: 'Never' },
    )
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Succeeded' && found
    })
    expect(await said(pod!)).toBe('from map|from secret|p|2|64|p|from map!||p\nfrom map $(A) $(NONE)\n')
  })
})

describe('probes', () => {
  it('restart a container that never starts up', async () => {
    const startupProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 2 }
    await world.start('p', { command: ['sleep', '1000'], startupProbe })
    await until(async () => ((await world.pod('p'))?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0)
  })

  it.each<[string, Probe]>([
    ['a header with a line end', { httpGet: { port: 80, httpHeaders: [{ name: 'x', value: 'one\ntwo' }] } }],
    ['a command with a NUL', { exec: { command: ['test', '\0'] } }],
  ])('fail that cannot be sent, and stop nothing else: %s', async (_, probe) => {
    await world.start('p', { command: ['sleep', '1000'], livenessProbe: { ...probe, failureThreshold: 1 } })
    await until(async () => ((await world.pod('p'))?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0)
  })

  it('ask for a path with spaces and other letters', async () => {
    const server = `require('http').createServer((q, a) => a.writeHead(q.url === '/a%20%C3%A9?b%20c' ? 200 : 404).end()).listen(process.env.PORT)`
    const readinessProbe = { httpGet: { port: 8080, path: '/a é?b c' } }
    const ports = [{ containerPort: 8080 }]
    await world.start('p', { command: [process.execPath, '-e', server], ports, readinessProbe })
    await whenReady('p')
  })

  it('wait for a slow start', async () => {
    const startupProbe = { exec: { command: ['test', '-e', file('up')] }, periodSeconds: 1, failureThreshold: 4 }
    const livenessProbe = { exec: { command: ['test', '-e', file('up')] }, periodSeconds: 1, failureThreshold: 1 }
    await world.start('p', {
      command: ['sh', '-c', `sleep 1.5; touch ${file('up')}; sleep 1000`],
      startupProbe,
      livenessProbe,
    })
    const pod = await whenReady('p')
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0)
  })

  it('stop a container that is no longer alive as gracefully as a deletion does', async () => {
    const livenessProbe = {
      exec: { command: ['test', '!', '-e', file('prepared')] },
      periodSeconds: 1,
      failureThreshold: 1,
    }
    await world.start('p', { ...ending('echo bye; exit 0'), livenessProbe })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.containerStatuses?.[0]?.lastState?.terminated && found
    })
    expect(pod?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(0)
  })
})

describe('a log', () => {
  it('shows the last run until the next one starts, and the previous run on request', async () => {
    const command = [
      'sh',
      '-c',
      `echo run >> ${file('runs')}; wc -l < ${file('runs')}; [ $(wc -l < ${file('runs')}) = 2 ] && sleep 1000; exit 1`,
    ]
    await world.start('p', { command })
    const waiting = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff' && found
    })
    expect([await said(waiting!), await said(waiting!, 'c', true)]).toEqual(['1\n', '1\n'])
    const running = await whenReady('p')
    await until(async () => (await said(running)) === '2\n')
    expect(await said(running, 'c', true)).toBe('1\n')
  })

  it('holds all output, including a last line without line end', async () => {
    const much = `for i in $(seq 1 2000); do echo "line $i"; done; printf 'no end'`
    await world.start('p', { command: ['sh', '-c', much] }, { restartPolicy: 'Never' })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Succeeded' && found
    })
    const lines = (await said(pod!)).split('\n')
    expect([lines.length, lines[1999], lines[2000]]).toEqual([2002, 'line 2000', 'no end'])
  })

  it('is written piece by piece while a line does not end', async () => {
    await world.start('p', { command: ['sh', '-c', 'head -c 100000 /dev/zero | tr "\\\\0" x; sleep 1000'] })
    const pod = await whenReady('p')
    await until(async () => (await said(pod)).length > 80_000)
  })

  it('leave a simulated container unready whose probe fails in every image', async () => {
    await world.start('p', { readinessProbe: { exec: { command: ['/bin/false'] } } })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Running' && found
    })
    expect(pod?.status?.containerStatuses?.[0]).toMatchObject({ ready: false, started: true })
  })

  it('states that a container without a command is simulated', async () => {
    await world.start('p', { resources: { requests: { cpu: '100m' } } })
    const pod = await whenReady('p')
    expect(await said(pod!)).toContain('container c has no command')
    expect(pod?.status).toMatchObject({ qosClass: 'Burstable' })
  })
})

describe('the status of a Pod', () => {
  it.each([
    ['a NUL in an argument', { command: ['sleep', '\0'] }],
    ['an argument that is too long', { command: ['sleep', 'x'.repeat(200_000)] }],
    ['a file as its folder', { command: ['sleep', '1'], workingDir: '/etc/passwd' }],
  ])('says why a container cannot start: %s', async (_, container) => {
    await world.start('p', container, { restartPolicy: 'Never' })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Failed' && found
    })
    const { terminated } = pod?.status?.containerStatuses?.[0]?.state ?? {}
    expect(terminated).toMatchObject({ exitCode: 128, reason: 'StartError', message: expect.any(String) as string })
  })

  it('becomes ready though its ports could not be written at first', async () => {
    let refusals = 0
    await using other = await startNodeWorld({
      admission: [
        {
          validate({ type, operation, subresource }) {
            if (type.plural === 'pods' && operation === 'UPDATE' && subresource === '' && refusals++ < 2)
              throw new StatusError('InternalError', 'not yet')
          },
        },
      ],
    })
    await other.start('p', { command: ['sleep', '1000'] })
    await until(async () => {
      const pod = await other.pod('p')
      return pod && isReady(pod)
    })
    expect(refusals).toBeGreaterThan(2)
  })

  it('says why a container does not restart', async () => {
    const config = (data: object) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'team' },
      data,
    })
    const map = await world.create(config({ a: 'fine' }))
    await world.start('p', { command: ['sh', '-c', 'exit 1'], envFrom: [{ configMapRef: { name: 'c' } }] })
    await world.client.merge(configMaps, map.metadata, { data: { a: '\0' } })
    await until(async () => {
      const { lastState, state } = (await world.pod('p'))?.status?.containerStatuses?.[0] ?? {}
      return [lastState, state].some((each) => each?.terminated?.reason === 'StartError')
    })
  })

  it('says which generation of the Pod it is about, and follows an update', async () => {
    await world.start('p', { command: ['sleep', '1000'] })
    const { metadata, status } = await whenReady('p')
    expect([metadata.generation, status?.observedGeneration]).toEqual([1, 1])
    expect(status?.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([1, 1, 1, 1, 1])
    const body = { spec: { activeDeadlineSeconds: 5000 } }
    await world.client.patch(pods, { namespace: 'team', name: 'p' }, { type: 'merge', body })
    await until(async () => (await world.pod('p'))?.status?.observedGeneration === 2)
  })

  it('shows that it is terminating, even where it is only simulated', async () => {
    await world.start('p', {})
    await whenReady('p')
    await remove('p', 60)
    expect((await world.pod('p'))?.metadata).toMatchObject({ generation: 2, deletionGracePeriodSeconds: 60 })
    await isGone('p')
  })

  it('is ready only once others have opened its readiness gates, and keeps the conditions that they set', async () => {
    await world.start('p', { command: ['sleep', '1000'] }, { readinessGates: [{ conditionType: 'example.com/open' }] })
    const ready = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'Ready')
    const waiting = await until(async () => {
      const pod = await world.pod('p')
      return pod?.status?.containerStatuses?.[0]?.ready && pod
    })
    expect(ready(waiting)).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' })
    const open = { type: 'example.com/open', status: 'True' }
    const body = { status: { conditions: [open] } }
    await world.client.patch(pods, waiting.metadata, { type: 'strategic', body }, { subresource: 'status' })
    const { status } = await whenReady('p')
    expect(status?.conditions).toContainEqual(expect.objectContaining(open))
    expect(ready(await whenReady('p'))).not.toHaveProperty('reason')
  })

  it('holds the end of its log as the termination message, if it asks for that', async () => {
    const fails = { command: ['sh', '-c', 'echo first; echo last; exit 3'] }
    await world.start('p', { ...fails, terminationMessagePolicy: 'FallbackToLogsOnError' }, { restartPolicy: 'Never' })
    const pod = await until(async () => {
      const found = await world.pod('p')
      return found?.status?.phase === 'Failed' && found
    })
    expect(pod.status?.containerStatuses?.[0]?.state.terminated?.message).toBe('first\nlast\n')
  })

  it('waits while the node has no room, until another Pod has ended', async () => {
    const full = { status: { allocatable: { pods: '1' } } }
    await world.client.merge(nodes, { name: 'here' }, full, { subresource: 'status' })
    await until(async () => (await world.pod('probe')) ?? world.start('probe', {}))
    await whenReady('probe')
    await world.start('next', {})
    await until(async () => {
      const { status } = (await world.pod('next')) ?? {}
      return status?.conditions?.[0]?.message === '0/1 nodes are available: 1 Too many pods.'
    })
    await remove('probe', 0)
    expect((await whenReady('next')).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'PodScheduled', status: 'True' }),
    )
  })

  it('stays pending where another scheduler binds it', async () => {
    await world.start('theirs', {}, { schedulerName: 'mine' })
    await world.start('ours', {})
    await whenReady('ours')
    const theirs = await world.pod('theirs')
    expect([theirs?.status?.phase, theirs?.spec.nodeName]).toEqual(['Pending', undefined])
  })

  it('names an address at which no program of this machine listens while it is only simulated', async () => {
    await world.start('simulated', {})
    await world.start('real', { command: ['sleep', '1000'] })
    expect((await whenReady('real')).status?.podIP).toBe('127.0.0.1')
    const { podIP = '' } = (await whenReady('simulated')).status ?? {}
    const { port } = await world.server.listen({ port: 0 })
    const connects = (host: string) =>
      new Promise((resolve) => {
        const socket = connect({ host, port }, () => resolve(socket.destroy() !== undefined))
        socket.on('error', () => resolve(false))
      })
    expect([await connects('127.0.0.1'), await connects(podIP)]).toEqual([true, false])
  })
})

describe('the API server, for a process', () => {
  it('is found by its address, and knows the process by the token of its ServiceAccount', async () => {
    const { port } = await world.server.listen({ port: 0 })
    await until(
      () => world.server.store.get({ resource: 'serviceaccounts', namespace: 'team', name: 'default' }) !== undefined,
    )
    await world.start('p', {
      command: ['sh', '-c', `cat $KUBECONFIG > ${file('config')}; env > ${file('env')}; sleep 1000`],
    })
    await until(async () => isReady((await world.pod('p')) as Pod) && existsSync(file('env')))
    await until(() => readFileSync(file('env'), 'utf8').includes('KUBERNETES_SERVICE_HOST=127.0.0.1'))
    expect(readFileSync(file('env'), 'utf8')).toContain(`KUBERNETES_SERVICE_PORT=${port}\n`)
    const { users } = JSON.parse(readFileSync(file('config'), 'utf8')) as { users: { user: { token: string } }[] }
    const userOf = () => world.server.userOfToken(users[0]?.user.token ?? '')
    expect(userOf()?.name).toBe('system:serviceaccount:team:default')
    await world.client.deleteObject(pods, { namespace: 'team', name: 'p' }, { gracePeriodSeconds: 0 })
    await until(() => userOf() === undefined)
  })

  it('gives no token to a Pod that opts out', async () => {
    await world.server.listen({ port: 0 })
    await until(
      () => world.server.store.get({ resource: 'serviceaccounts', namespace: 'team', name: 'default' }) !== undefined,
    )
    const command = ['sh', '-c', `env > ${file('env')}; sleep 1000`]
    await world.start('p', { command }, { automountServiceAccountToken: false })
    await until(() => existsSync(file('env')) && readFileSync(file('env'), 'utf8').includes('KUBERNETES_SERVICE_HOST'))
    expect(readFileSync(file('env'), 'utf8')).not.toContain('KUBECONFIG')
  })
})
