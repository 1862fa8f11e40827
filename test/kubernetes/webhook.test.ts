import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { installManifests } from '../../src/app/install/install.ts'
import { validatePath } from '../../src/admission/webhook.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { pipelineManifest, refusedByProgram } from '../pipeline-refusals.ts'
import { accountOf } from './account.ts'
import { attempt, run, whenEstablished } from './kubectl.ts'
import { SojournProcess } from './sojourn-process.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kubectl')
if (missing) console.warn(`SKIPPED: the webhook in a real cluster: ${missing}`)

describe.skipIf(missing)('the webhook in a real cluster', () => {
  let cluster: ReferenceCluster
  let sojourn: SojournProcess
  let port: number
  const kubectl = (...args: readonly string[]) => run('kubectl', args, cluster)
  const apply = (input: unknown) => attempt('kubectl', ['apply', '-f', '-'], { ...cluster, input })

  /** As the account that `sojourn install` makes, with its rights and no others. */
  async function start(): Promise<SojournProcess> {
    const kubeconfig = await accountOf(cluster, 'cleaner')
    return SojournProcess.start([`--kubeconfig=${kubeconfig}`, '--only=cleaner', `--port=${port}`])
  }

  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    ;[port = 0] = await freePorts(1)
    const manifests = installManifests({
      roles: ['cleaner'],
      image: 'sojourn',
      replicas: 1,
      dryRun: false,
      separateRoles: true,
    })
    const isKind = ({ kind }: KubeObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition'
    for (const items of [manifests.filter(isKind), manifests.filter((manifest) => !isKind(manifest))])
      await run('kubectl', ['apply', '--server-side', '-f', '-'], {
        ...cluster,
        input: { apiVersion: 'v1', kind: 'List', items },
      })
    await whenEstablished(cluster)
    // Nothing routes Services here.
    const url = `https://127.0.0.1:${port}${validatePath}`
    const changes = [{ op: 'replace', path: '/webhooks/0/clientConfig', value: { url } }]
    await kubectl('patch', 'validatingwebhookconfiguration', 'sojourn', '--type=json', '-p', JSON.stringify(changes))
    await kubectl('create', 'namespace', 'team')
    sojourn = await start()
    // The server follows its configuration a moment later: until then it does not ask.
    await vi.waitFor(async () => expect((await apply(cleaner('probe', ['probe +']))).code).toBe(1), {
      timeout: 30_000,
      interval: 500,
    })
  }, 900_000)
  afterAll(async () => {
    await sojourn?.stop()
    await cluster?.stop()
  })

  function cleaner(name: string, conditions: readonly string[], ttl = '0s'): KubeObject {
    return {
      apiVersion: 'cleaner.vtex.dev/v1alpha',
      kind: 'Cleaner',
      metadata: { name, namespace: 'team' },
      spec: {
        ttl,
        targets: [
          {
            name: 'a',
            reference: { version: 'v1', kind: 'configmap', name: 'absent' },
            includeWhenEvaluating: true,
            delete: true,
          },
        ],
        conditions,
      },
    }
  }

  const ready = async (name: string) => {
    const text = await kubectl('get', 'cleaner', name, '-n', 'team', '-o', 'json')
    const { status } = JSON.parse(text) as {
      status?: { conditions?: readonly { status: string; reason: string; message: string }[] }
    }
    return status?.conditions?.[0]
  }

  it.each<[string, KubeObject, string]>([
    [
      'an expression that does not parse',
      cleaner('bad', ['true', 'a.metadata.name ==\n  = "x"']),
      'spec.conditions[1]: Invalid value: at 2:3',
    ],
    [
      'a variable nobody declared',
      cleaner('bad', ['b.metadata.name == "x"']),
      'spec.conditions[0]: Invalid value: at 1:1',
    ],
    ['a duration that is none', cleaner('bad', [], 'soon'), 'spec.ttl: Invalid value: "soon"'],
    [
      'a ConditionalTTL with days',
      {
        apiVersion: 'cleaner.vtex.io/v1alpha1',
        kind: 'ConditionalTTL',
        metadata: { name: 'bad', namespace: 'team' },
        spec: { ttl: '15d' },
      },
      'spec.ttl',
    ],
    [
      'a WorkSchedule of a zone nobody knows',
      {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind: 'WorkSchedule',
        metadata: { name: 'bad' },
        spec: { timeZone: 'Nowhere/Land', windows: [{ days: ['Monday'] }] },
      },
      'spec.timeZone',
    ],
    ...refusedByProgram
      .slice(0, 2)
      .map(({ what, spec, says }): [string, KubeObject, string] => [
        `a Pipeline with ${what}`,
        pipelineManifest(spec),
        says[0] ?? '',
      ]),
  ])('has kubectl apply of %s refused, naming field and place', async (_, manifest, message) => {
    const { code, stderr } = await apply(manifest)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(stderr).toContain('is invalid')
  })

  it('lets what can work pass, and its controller work on it', async () => {
    expect((await apply(cleaner('good', ['a.metadata.name == "x"'], '1h'))).stderr).toBe('')
    await vi.waitFor(async () => expect(await ready('good')).toMatchObject({ reason: 'NotExpired' }), 20_000)
  })

  it('refuses a change that breaks a spec', async () => {
    const { code, stderr } = await apply(cleaner('good', ['a.'], '1h'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('spec.conditions[0]')])
  })

  it('keeps its certificate over a restart, for the cluster trusts it', async () => {
    const secret = () => kubectl('get', 'secret', 'sojourn-webhook', '-n', 'sojourn-system', '-o', 'jsonpath={.data}')
    const before = await secret()
    await sojourn.stop()
    sojourn = await start()
    expect(await secret()).toBe(before)
    expect((await apply(cleaner('bad', ['a +']))).code).toBe(1)
  })

  it('while it is down objects are stored, and once it runs they say what is wrong while others go on', async () => {
    await sojourn.stop()
    const stored = await apply(cleaner('broken', ['a +']))
    expect([stored.code, stored.stderr]).toEqual([0, ''])
    expect((await apply(cleaner('leaves', []))).code).toBe(0)
    await kubectl('create', 'configmap', 'absent', '-n', 'team')
    sojourn = await start()
    await vi.waitFor(
      async () =>
        expect(await ready('broken')).toMatchObject({
          status: 'False',
          reason: 'ConditionCompileError',
          message: expect.stringContaining('spec.conditions[0]: Invalid value: at 1:4'),
        }),
      20_000,
    )
    // What is broken may still be labelled and deleted.
    await kubectl('label', 'cleaner', 'broken', '-n', 'team', 'seen=yes')
    await kubectl('delete', 'cleaner', 'broken', '-n', 'team', '--timeout=20s')
    // Without a right to look at ConfigMaps, the other one says so and waits.
    await vi.waitFor(async () => expect(await ready('leaves')).toMatchObject({ reason: 'TargetForbidden' }), 20_000)
  })
})
