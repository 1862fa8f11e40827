import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { readConfig } from '../../../src/app/config/config.ts'
import { createInstance } from '../../../src/app/core/instance.ts'
import { registerKinds } from '../../../src/admission/register-kinds.ts'
import { startSystems } from '../../../src/app/core/systems.ts'
import { departure, type Departure } from '../../../src/apis/departure.ts'
import { Client } from '../../../src/client/client.ts'
import { restore } from '../../../src/departures/restore/restore.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import type { Transport } from '../../../src/kube/transport.ts'
import { systemClock } from '../../../src/runtime/time/clock.ts'
import { silentLogger } from '../../../src/runtime/observability/log.ts'
import { pretendControllers } from './pretend-controllers.ts'

const chart = join(import.meta.dirname, 'hooked')
const everyStatus = '--deployed --failed --pending --superseded --uninstalled --uninstalling'

/** A cluster, and the real helm pointed at it. */
export interface HelmCluster {
  readonly transport: Transport
  /** The cleaner's client, once its kinds are installed. Defaults to the administrator's. */
  readonly cleaner?: () => Promise<Transport>
  readonly helm: (command: string, env?: Readonly<Record<string, string>>) => Promise<string>
}

/** Tests of a Cleaner that uninstalls releases of the real helm, for any cluster. */
export function itUninstallsWhatHelmInstalled(cluster: () => HelmCluster): void {
  let client: Client
  let stop: () => Promise<void>
  beforeAll(async () => {
    const { transport, cleaner = () => Promise.resolve(transport) } = cluster()
    client = new Client(transport)
    const ending = new AbortController()
    const controllers = pretendControllers(transport, ending.signal)
    await registerKinds(client)
    await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } })
    const config = readConfig({ flags: { only: 'cleaner', 'max-departures-percent': '100' }, env: {} })
    const instance = createInstance({
      config,
      client: new Client(await cleaner()),
      clock: systemClock,
      log: silentLogger,
    })
    await startSystems(instance, ['cleaner'])
    stop = async () => {
      await instance.lifecycle.stop()
      ending.abort()
      await controllers.catch(() => {})
    }
  })
  afterAll(() => stop?.())

  /** A server takes a moment to serve new kinds, and to let its admission policies see them. */
  function create(manifest: KubeObject): Promise<void> {
    const attempt = async () => {
      const type = await client.discovery.typeOf(manifest)
      if (!type) throw new Error(`${manifest.kind} is not served`)
      await client.create(type, manifest).catch(ignoring('AlreadyExists'))
    }
    return vi.waitFor(attempt, { timeout: 60_000, interval: 250 })
  }

  async function get(apiVersion: string, kind: string, name: string, namespace?: string) {
    const type = await client.discovery.typeOf({ apiVersion, kind })
    if (!type) return undefined
    return client.get<StoredObject>(type, placeOf({ name, namespace })).catch(ignoring('NotFound'))
  }

  /** Applies an expired Cleaner that uninstalls a release, and waits until it is done. */
  async function clean(namespace: string, helm: object): Promise<void> {
    await create({
      apiVersion: 'cleaner.vtex.dev/v1alpha',
      kind: 'Cleaner',
      metadata: { name: 'away', namespace },
      spec: { ttl: '0s', helm: { release: 'preview', delete: true, ...helm } },
    })
    const left = () => get('cleaner.vtex.dev/v1alpha', 'Cleaner', 'away', namespace)
    await vi.waitFor(async () => expect(await left()).toBeUndefined(), { timeout: 40_000, interval: 250 })
  }

  const list = async (namespace: string, env: Readonly<Record<string, string>> = {}) =>
    JSON.parse(await cluster().helm(`list -n ${namespace} ${everyStatus} -o json`, env)) as unknown

  async function events(namespace: string): Promise<readonly string[]> {
    const type = await client.discovery.typeOf({ apiVersion: 'v1', kind: 'Event' })
    if (!type) return []
    const { items } = await client.list<StoredObject & { reason: string; message: string }>(type, { namespace })
    return items.map(({ reason, message }) => `${reason} ${message}`)
  }

  it.each([
    ['Secrets', 'secret'],
    ['ConfigMaps', 'configmap'],
  ])(
    'deletes all revisions recorded in %s, runs hooks, and keeps what the chart’s resource policy keeps',
    async (_, driver) => {
      const { helm } = cluster()
      const env = { HELM_DRIVER: driver }
      const namespace = `by-${driver}`
      await helm(`install preview ${chart} -n ${namespace} --create-namespace`, env)
      await helm(`upgrade preview ${chart} -n ${namespace} --set greeting=salut,extra=true`, env)
      await helm(`upgrade preview ${chart} -n ${namespace} --set greeting=hola,extra=true`, env)
      expect(await list(namespace, env)).toMatchObject([{ name: 'preview', revision: '3' }])

      await clean(namespace, { driver })

      expect(await list(namespace, env)).toEqual([])
      expect(await get('apps/v1', 'Deployment', 'preview', namespace)).toBeUndefined()
      expect(await get('v1', 'Service', 'preview', namespace)).toBeUndefined()
      expect(await get('v1', 'ConfigMap', 'preview', namespace)).toBeUndefined()
      expect(await get('v1', 'ConfigMap', 'preview-extra', namespace)).toBeUndefined()
      expect(await get('rbac.authorization.k8s.io/v1', 'ClusterRole', `${namespace}-preview`)).toBeUndefined()
      expect(await get('v1', 'ConfigMap', 'preview-kept', namespace)).toMatchObject({ data: { precious: 'yes' } })
      // Only the hook whose delete policy says so remains.
      const hooks = await Promise.all(
        ['first', 'second', 'last'].map((name) => get('batch/v1', 'Job', `preview-${name}`, namespace)),
      )
      expect(hooks.map((job) => job !== undefined)).toEqual([true, false, false])
      expect(hooks[0]).toMatchObject({ status: { succeeded: 1 } })
      await vi.waitFor(
        async () => expect(await events(namespace)).toContain('HelmReleaseUninstalled uninstalled release preview'),
        20_000,
      )
      // A release of the same name can be installed again.
      await helm(`install preview ${chart} -n ${namespace} --take-ownership`, env)
      expect(await list(namespace, env)).toMatchObject([{ name: 'preview', revision: '1' }])
    },
  )

  it('comes back by one restore of its decision: helm reads the release, and rolls it back', async () => {
    const { helm } = cluster()
    await helm(`install preview ${chart} -n returns --create-namespace`)
    await helm(`upgrade preview ${chart} -n returns --set greeting=salut,extra=true`)
    await clean('returns', {})
    const { items } = await client.list<Departure>(departure.type, { namespace: 'returns' })
    const record = items.find(({ spec }) => spec.object.kind === 'Cleaner')!
    await restore(client, record, { now: systemClock.now() })
    expect(await helm('status preview -n returns')).toMatch(/STATUS: deployed[^]*REVISION: 2/)
    expect(await get('v1', 'ConfigMap', 'preview-extra', 'returns')).toBeDefined()
    await helm('rollback preview 1 -n returns')
    expect(await list('returns')).toMatchObject([{ name: 'preview', revision: '3', status: 'deployed' }])
    expect(await get('v1', 'ConfigMap', 'preview-extra', 'returns')).toBeUndefined()
    expect(await get('v1', 'ConfigMap', 'preview', 'returns')).toMatchObject({ data: { greeting: 'hello' } })
  })

  it('deletes the history that "helm uninstall --keep-history" kept', async () => {
    const { helm } = cluster()
    await helm(`install preview ${chart} -n history --create-namespace`)
    await helm('uninstall preview -n history --keep-history --no-hooks')
    expect(await list('history')).toMatchObject([{ name: 'preview', status: 'uninstalled' }])
    await clean('history', {})
    expect(await list('history')).toEqual([])
    expect(await get('batch/v1', 'Job', 'preview-first', 'history')).toBeUndefined()
  })

  it('runs no hooks if they are disabled, and does not touch other releases', async () => {
    const { helm } = cluster()
    await helm(`install preview ${chart} -n quiet --create-namespace`)
    await helm(`install neighbour ${chart} -n quiet`)
    await clean('quiet', { disableHooks: true })
    expect(await list('quiet')).toMatchObject([{ name: 'neighbour', status: 'deployed' }])
    expect(await get('batch/v1', 'Job', 'preview-first', 'quiet')).toBeUndefined()
    expect(await get('apps/v1', 'Deployment', 'neighbour', 'quiet')).toBeDefined()
  })
}
