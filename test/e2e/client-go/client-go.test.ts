import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildGo, whyNoGo } from '../../../scripts/reference-cluster/go-build.ts'
import { toolsDirectory } from '../../../scripts/reference-cluster/tools.ts'
import { pods, roleBindings, roles, serviceAccounts } from '../../../src/kube/core-types.ts'
import type { KubeObject, ResourceType } from '../../../src/kube/object.ts'
import { startCluster } from '../activator/sojourn-process.ts'
import { startTestServer, type TestServer } from '../../apiserver/test-server.ts'
import { systemClock } from '../../../src/runtime/time/clock.ts'

const module = join(import.meta.dirname, 'program')
const source = ['main.go', 'go.mod'].map((file) => readFileSync(join(module, file)))
const digest = createHash('sha256').update(Buffer.concat(source)).digest('hex').slice(0, 12)
const program = join(toolsDirectory, `client-go-${digest}`)

const missing = existsSync(program) ? undefined : await whyNoGo(module)
if (missing) console.warn(`SKIPPED: client-go: ${missing}`)

/** Root mounts without further ado; an ordinary user needs a user namespace. */
const users: readonly (readonly [string, { readonly uid?: number; readonly gid?: number }])[] =
  process.getuid?.() === 0
    ? [
        ['root', {}],
        ['an ordinary user', { uid: 65534, gid: 65534 }],
      ]
    : [['an ordinary user', {}]]
const cannotMount = users.some(([, user]) => {
  const flags = user.uid === undefined && process.getuid?.() === 0 ? ['-m'] : ['-r', '-m']
  return spawnSync('unshare', [...flags, 'true'], user).status !== 0
})
if (cannotMount) console.warn('SKIPPED: programs in the place of a Pod: unshare may not make a mount namespace here')

describe.skipIf(missing)('a client-go program', () => {
  let server: TestServer
  let directory: string
  let kubeconfig: string
  beforeAll(async () => {
    if (!existsSync(program)) await buildGo({ module, package: '.', output: program, ldflags: '-s -w' })
    server = await startTestServer({ clock: systemClock })
    directory = mkdtempSync(join(tmpdir(), 'sojourn-client-go-'))
    kubeconfig = join(directory, 'kubeconfig')
    const { url } = await server.listen({ port: 0 })
    writeFileSync(kubeconfig, server.kubeconfig(url), { mode: 0o600 })
  }, 900_000)
  afterAll(async () => {
    await server?.close()
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  it.each([
    ['streams its first lists', 'streamed', 'true'],
    ['lists and then watches', 'listed', 'false'],
  ])(
    '%s: informers, typed and metadata clients, apply, pages, leader election',
    async (_, namespace, watchList) => {
      const env = { ...process.env, KUBE_FEATURE_WatchListClient: watchList }
      const { stdout } = await promisify(execFile)(program, [kubeconfig, namespace], { env, timeout: 60_000 })
      expect(stdout.trim().split('\n')).toEqual(
        [
          'conflict',
          'already exists',
          'delete precondition',
          'not found',
          'invalid',
          'informer synced',
          'informer events',
          'informer version',
          'metadata informer synced',
          'metadata informer events',
          'dynamic watch',
          'old watch',
          'too large resource version',
          'apply conflict',
          'extract applied',
          'paging',
          'leader first',
          'leader second',
        ].map((promise) => `ok: ${promise}`),
      )
    },
    60_000,
  )

  it.skipIf(cannotMount).each(users)(
    'runs with rest.InClusterConfig alone in the place of a simulated Pod, as %s',
    async (_, user) => {
      await using cluster = await startCluster()
      for (const [type, manifest] of operator) await cluster.client.create(type, manifest)
      const [copied, access] = [join(directory, 'operator'), join(directory, 'cluster')]
      cpSync(program, copied)
      cpSync(cluster.kubeconfig, access)
      for (const each of [directory, copied, access]) chmodSync(each, 0o755)
      const flags = ['as-pod', 'operator', '-n', 'default', '--kubeconfig', access]
      const command = [main, ...flags, '--', copied, 'in-cluster', 'default']
      const env = { PATH: process.env['PATH'] }
      const { stdout } = await promisify(execFile)(process.execPath, command, { ...user, env, timeout: 60_000 })
      expect(stdout.trim().split('\n')).toEqual([
        'system:serviceaccount:default:operator',
        'ok: allowed by its Role',
        'ok: refused otherwise',
        `default operator ${user.uid ?? process.getuid?.()}`,
      ])
      expect(existsSync('/var/run/secrets/kubernetes.io')).toBe(false)
    },
    120_000,
  )
})

const main = join(import.meta.dirname, '../../../src/cli/main.ts')
const metadata = { name: 'operator', namespace: 'default' }
const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${apiGroup}/v1`

/** An operator as its manifests install it, whose image is not run, and that may read ConfigMaps. */
const operator: readonly (readonly [ResourceType, KubeObject])[] = [
  [serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }],
  [
    roles,
    { apiVersion, kind: 'Role', metadata, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] },
  ],
  [
    roleBindings,
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'Role', name: 'operator' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
  ],
  [
    pods,
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        serviceAccountName: 'operator',
        containers: [
          {
            name: 'manager',
            image: 'operator:1',
            env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          },
        ],
      },
    },
  ],
]
