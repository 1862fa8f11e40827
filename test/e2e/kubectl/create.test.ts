import { afterAll, beforeAll, expect, it } from 'vitest'
import { configMap, deployment } from './manifests.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl create', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start()
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  it.each([
    ['ns made', 'namespace/made'],
    ['cm c --from-literal=a=1', 'configmap/c'],
    ['secret generic s --from-literal=password=x', 'secret/s'],
    ['secret docker-registry r --docker-server=r.example --docker-username=u --docker-password=p', 'secret/r'],
    ['sa robot', 'serviceaccount/robot'],
    ['deploy d --image=nginx --replicas=2 --port=80', 'deployment.apps/d'],
    ['job j --image=busybox -- true', 'job.batch/j'],
    [`cronjob cj --image=busybox '--schedule=*/5 * * * *' -- true`, 'cronjob.batch/cj'],
    ['svc clusterip svc --tcp=80:8080', 'service/svc'],
    ['svc nodeport np --tcp=80:8080', 'service/np'],
    ['svc externalname ext --external-name=example.com', 'service/ext'],
    [`ingress ing --rule=example.com/*=svc:80`, 'ingress.networking.k8s.io/ing'],
    ['role reader --verb=get,list --resource=pods', 'role.rbac.authorization.k8s.io/reader'],
    ['rolebinding rb --role=reader --user=bob', 'rolebinding.rbac.authorization.k8s.io/rb'],
    ['clusterrole cr --verb=get --resource=nodes', 'clusterrole.rbac.authorization.k8s.io/cr'],
    ['clusterrolebinding crb --clusterrole=cr --group=devs', 'clusterrolebinding.rbac.authorization.k8s.io/crb'],
    ['quota q --hard=pods=3', 'resourcequota/q'],
    ['pdb pdb --selector=app=d --min-available=1', 'poddisruptionbudget.policy/pdb'],
    ['priorityclass pc --value=10 --description=x', 'priorityclass.scheduling.k8s.io/pc'],
  ])('creates %s, sent as protobuf', async (what, named) => {
    expect(await session.run(`create ${what}`)).toBe(`${named} created\n`)
    expect(await session.run(`get ${named} -o name`)).toBe(`${named}\n`)
  })

  it('keeps all fields of generated objects', async () => {
    const { spec } = JSON.parse(await session.run('get deploy d -o json')) as {
      spec: { replicas: number; template: { spec: { containers: unknown[] } } }
    }
    expect(spec.replicas).toBe(2)
    expect(spec.template.spec.containers[0]).toMatchObject({
      name: 'nginx',
      image: 'nginx',
      ports: [{ containerPort: 80, protocol: 'TCP' }],
    })
    expect(await session.run('get secret s -o jsonpath={.data.password}')).toBe(Buffer.from('x').toString('base64'))
    expect(await session.run('get cronjob cj -o jsonpath={.spec.schedule}')).toBe('*/5 * * * *')
  })

  it('runs, exposes and autoscales', async () => {
    expect(await session.run('run one --image=nginx --port=80 --labels=app=one')).toBe('pod/one created\n')
    expect(await session.run('expose pod one --port=80')).toBe('service/one exposed\n')
    expect(await session.run('expose deploy d --port=80 --name=front')).toBe('service/front exposed\n')
    expect(await session.run('autoscale deploy d --min=1 --max=3 --cpu=50%')).toContain('autoscaled')
    expect(await session.run('get hpa d')).toMatch(/Deployment\/d +cpu: <unknown>\/50% +1 +3/)
    expect(await session.run('get pod one')).toMatch(/one +0\/1 +Pending +0/)
  })

  it('creates from a file, and not twice', async () => {
    const file = session.file('cm.json', JSON.stringify(configMap('from-file')))
    expect(await session.run(`create -f ${file}`)).toBe('configmap/from-file created\n')
    expect((await session.attempt(`create -f ${file}`)).stderr).toContain('configmaps "from-file" already exists')
  })

  it('generates names', async () => {
    const made = await session.pipe('create -f -', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'made-' },
    })
    expect(made).toMatch(/^configmap\/made-[a-z0-9]{5} created\n$/)
  })

  it('refuses, warns of or ignores unknown fields, as --validate says', async () => {
    const typo = { ...configMap('typo'), dota: {} }
    const strict = await session.attempt('create -f -', { stdin: JSON.stringify(typo) })
    expect(strict.stderr).toContain('strict decoding error: unknown field "dota"')
    const warned = await session.attempt('create --validate=warn -f -', { stdin: JSON.stringify(typo) })
    expect(warned).toMatchObject({ code: 0, stderr: 'Warning: unknown field "dota"\n' })
    const quiet = await session.attempt('create --validate=false -f -', {
      stdin: JSON.stringify({ ...typo, metadata: { name: 'quiet' } }),
    })
    expect(quiet).toMatchObject({ code: 0, stderr: '' })
  })

  it('changes nothing with --dry-run', async () => {
    expect(await session.pipe('create --dry-run=server -f -', deployment('dry'))).toBe(
      'deployment.apps/dry created (server dry run)\n',
    )
    expect((await session.attempt('get deploy dry')).stderr).toContain('not found')
  })

  it('names every fault of an invalid object', async () => {
    const broken = deployment('broken', { selector: { matchLabels: { app: 'other' } }, replicas: -1 })
    const { stderr } = await session.attempt('create -f -', { stdin: JSON.stringify(broken) })
    expect(stderr).toContain('spec.replicas: Invalid value: -1')
    expect(stderr).toContain('`selector` does not match template `labels`')
  })

  it('creates nothing in a namespace that does not exist', async () => {
    const { stderr } = await session.attempt('create cm x -n nowhere')
    expect(stderr).toContain('namespaces "nowhere" not found')
  })
})
