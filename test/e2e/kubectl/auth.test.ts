import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl auth', () => {
  let session: Session
  let viewer = ''
  beforeAll(async () => {
    session = await Session.start()
    viewer = session.file('viewer', session.server.kubeconfig(session.url, 'sojourn:viewer'))
    await session.run('create ns team')
    await session.run('create rolebinding editors -n team --clusterrole=edit --group=devs')
    await session.run('create sa robot -n team')
    await session.run('create rolebinding robot -n team --clusterrole=view --serviceaccount=team:robot')
    await session.run('wait --for=jsonpath={.rules[0].verbs} clusterrole/edit --timeout=20s')
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  it('answers whoami', async () => {
    expect(await session.run('auth whoami -o jsonpath={.status.userInfo.username}')).toBe('system:admin')
    expect(await session.run(`auth whoami -o jsonpath={.status.userInfo.username} --kubeconfig=${viewer}`)).toBe(
      'sojourn:viewer',
    )
  })

  it('answers can-i', async () => {
    expect(await session.run('auth can-i create pods')).toBe('yes\n')
    const bob = '--as=bob --as-group=devs'
    expect(await session.run(`auth can-i create deploy -n team ${bob}`)).toBe('yes\n')
    expect((await session.attempt(`auth can-i create deploy -n default ${bob}`)).stdout).toBe('no\n')
    expect((await session.attempt(`auth can-i create rolebindings -n team ${bob}`)).stdout).toBe('no\n')
    expect((await session.attempt('auth can-i get /metrics --as=bob')).stdout).toBe('no\n')
    expect(await session.run(`auth can-i --list -n team ${bob}`)).toMatch(
      /deployments\.apps +\[\] +\[\] +\[.*create.*\]/,
    )
  })

  it('refuses in the words that tools match on', async () => {
    const { stderr } = await session.attempt('get pods -n default --as=bob')
    expect(stderr).toBe(
      'Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default"\n',
    )
  })

  it('lets the viewer see everything but Secrets, and change nothing', async () => {
    expect(await session.run(`get cm -A --kubeconfig=${viewer}`)).toContain('kube-root-ca.crt')
    expect((await session.attempt(`get secrets -A --kubeconfig=${viewer}`)).stderr).toContain('secrets is forbidden')
    expect((await session.attempt(`create cm x --kubeconfig=${viewer}`)).stderr).toContain('is forbidden')
  })

  it('issues ServiceAccount tokens that work until the account is deleted', async () => {
    const token = (await session.run('create token robot -n team --duration=20m')).trim()
    const as = `--token=${token} --server=${session.url} --insecure-skip-tls-verify --kubeconfig=/dev/null`
    expect(await session.run(`auth whoami -o jsonpath={.status.userInfo.username} ${as}`)).toBe(
      'system:serviceaccount:team:robot',
    )
    expect(await session.run(`get deploy -n team ${as}`)).toBe('')
    expect((await session.attempt(`get deploy -n default ${as}`)).stderr).toContain(
      'User "system:serviceaccount:team:robot" cannot list resource "deployments"',
    )
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
    expect(await session.pipe('create -o jsonpath={.status.authenticated} -f -', review)).toBe('true')
    await session.run('delete sa robot -n team')
    expect((await session.attempt(`get deploy -n team ${as}`)).stderr).toContain('must be logged in')
    expect((await session.attempt('create token nobody -n team')).stderr).toContain(
      'serviceaccounts "nobody" not found',
    )
    expect((await session.attempt('create token default -n team --duration=1s')).stderr).toContain(
      'may not specify a duration less than 10 minutes',
    )
  })

  it('accepts client certificates', async () => {
    const { admin } = session.server.credentials
    const certificate = session.file('admin.crt', admin.certificate)
    const key = session.file('admin.key', admin.key)
    const authority = session.file('ca.crt', session.server.credentials.authority)
    const flags = `--client-certificate=${certificate} --client-key=${key} --certificate-authority=${authority} --server=${session.url} --kubeconfig=/dev/null`
    expect(await session.run(`auth whoami ${flags} -o jsonpath={.status.userInfo}`)).toContain('"kubernetes-admin"')
  })

  it('refuses a wrong token', async () => {
    const { stderr } = await session.attempt(
      `get ns --token=wrong --server=${session.url} --insecure-skip-tls-verify --kubeconfig=/dev/null`,
    )
    expect(stderr).toContain('must be logged in')
  })

  it('refuses to grant rights that the user does not have', async () => {
    await session.run('create clusterrole role-maker --verb=create,update,patch,get --resource=roles,rolebindings')
    await session.run('create rolebinding makers -n team --clusterrole=role-maker --user=eve')
    const { stderr } = await session.attempt('create role spy -n team --verb=get --resource=secrets --as=eve')
    expect(stderr).toContain(
      'user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    )
    const bound = await session.attempt('create rolebinding up -n team --clusterrole=cluster-admin --user=eve --as=eve')
    expect(bound.stderr).toContain('is attempting to grant RBAC permissions not currently held')
    expect(await session.run('create role own -n team --verb=get --resource=roles --as=eve')).toContain('created')
  })

  it('lets only permitted users impersonate', async () => {
    expect((await session.attempt(`get ns --as=bob --kubeconfig=${viewer}`)).stderr).toContain('cannot impersonate')
  })

  it('aggregates the rules of labelled ClusterRoles', async () => {
    await session.pipe('create -f -', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'bless-slices', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['bless'] }],
    })
    const mayBless = async () =>
      (await session.attempt('auth can-i bless endpointslices.discovery.k8s.io -n team --as=bob --as-group=devs'))
        .stdout
    await expect.poll(mayBless, { timeout: 20_000 }).toBe('yes\n')
  })
})
