import { expect, it } from 'vitest'
import { main } from '../program.ts'

async function install(...words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await main(['install', ...words], {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env: {},
    now: () => 0,
    isTerminal: false,
    isErrTerminal: false,
    colours: false,
    width: 100,
    height: 50,
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

it('says which image the pods will use, unless --image names one or there are no pods', async () => {
  const { code, out, err } = await install()
  expect([code, err]).toEqual([0, expect.stringContaining('sojourn:latest: build it with deploy/Dockerfile')])
  expect(out).toContain('image: sojourn:latest')
  expect(await install('--image', 'mine:1', '--only', 'cleaner')).toMatchObject({ code: 0, err: '' })
  expect(await install('--crds-only')).toMatchObject({ code: 0, err: '', out: expect.not.stringContaining('image:') })
})

it('installs the dashboard only where it is asked for', async () => {
  const has = async (...words: readonly string[]) => (await install(...words)).out.includes('name: sojourn-dashboard')
  expect(await has()).toBe(false)
  expect(await has('--separate-roles')).toBe(false)
  expect(await has('--dashboard')).toBe(true)
  expect(await has('--only', 'cleaner,dashboard')).toBe(true)
  expect(await has('--only', 'cleaner', '--dashboard')).toBe(true)
  expect(await has('--only', 'cleaner')).toBe(false)
})

it('refuses an invalid number of pods, naming the flag', async () => {
  expect(await install('--replicas', 'many')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('--replicas must be a whole number'),
  })
})

it('prints the right to act as the ServiceAccounts of a tenant, in that namespace only', async () => {
  const { code, out } = await install('tenant', 'team-a')
  expect(code).toBe(0)
  expect(out).toContain('kind: RoleBinding')
  expect(out).not.toContain('kind: ClusterRole')
  expect(out.match(/namespace: team-a/g)).toHaveLength(2)
  expect(out).toContain('- impersonate\n')
  expect(await install('tenant')).toMatchObject({ code: 2, err: expect.stringContaining('install tenant NAMESPACE') })
})

it('prints constrained impersonation for chosen targets, and never both forms', async () => {
  const { out } = await install('tenant', 'team-a', '--targets', 'deployments.apps,configmaps')
  expect(out).toContain('impersonate:serviceaccount')
  expect(out).toContain('impersonate-on:serviceaccount:delete')
  expect(out).not.toContain('- impersonate\n')
})

it('records creators by a policy, by a webhook, or not at all', async () => {
  const printed = async (admission: string) => (await install('--admission', admission)).out
  expect(await printed('MAP')).toContain('kind: MutatingAdmissionPolicyBinding')
  expect(await printed('Webhook')).toContain('path: /sojourn/v1alpha1/record-creator')
  expect(await printed('Off')).not.toMatch(/kind: Mutating|name: sojourn-creator$/m)
  expect(await install('--admission', 'Maybe')).toMatchObject({ code: 2, err: expect.stringContaining('--admission') })
  expect((await install('--restorers', 'system:serviceaccount:velero:velero')).out).toContain(
    "in ['system:serviceaccount:velero:velero']",
  )
  expect(await install('--restorers', "x'] || true || ['")).toMatchObject({ code: 2 })
})
