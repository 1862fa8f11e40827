import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp } from '../../src/app/embedded/up.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { runCommand } from '../command.ts'
import { attempt, run } from './kubectl.ts'

const missing = await whyUnavailable('kubectl', 'helm')
if (missing) console.warn(`*** SKIPPED: an environment with a release of helm: ${missing}`)

const chart = join(import.meta.dirname, '../docs/granted/chart')
const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 120_000, interval: 500 })

it.skipIf(missing)(
  'uninstalls the releases of helm in an environment with their hooks, then deletes the Namespace, and all comes back',
  { timeout: 400_000 },
  async () => {
    const data = mkdtempSync(join(tmpdir(), 'environment-helm-'))
    const evidence = join(data, 'goodbye')
    const config = readConfig({ flags: { data, port: '0', 'proxy-port': '0' }, env: {} })
    const running = await startUp(config, silentLogger)
    const place = { kubeconfig: running.kubeconfig }
    try {
      const spec = {
        namespaceSelector: { matchLabels: { env: 'preview' } },
        delete: {
          when: 'has(namespaceObject.metadata.annotations) && "done" in namespaceObject.metadata.annotations',
          warnBefore: '1s',
        },
      }
      for (const input of [
        { apiVersion: 'sojourn.dev/v1alpha1', kind: 'EnvironmentClass', metadata: { name: 'preview' }, spec },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop-pr-1', labels: { env: 'preview' } } },
      ])
        await run('kubectl', ['apply', '-f', '-'], { ...place, input })
      const words = ['upgrade', '--install', 'shop', chart, '-n', 'shop-pr-1', '--set', `evidence=${evidence}`]
      await run('helm', words, place)
      await run('kubectl', ['annotate', 'namespace', 'shop-pr-1', 'done=yes'], place)
      await until(async () => expect((await attempt('kubectl', ['get', 'ns', 'shop-pr-1'], place)).code).not.toBe(0))
      expect(existsSync(evidence)).toBe(true)
      const { out } = await runCommand(place.kubeconfig, 'departures', '-A')
      const record = /namespace-shop-pr-1-\S+/.exec(out)?.[0] ?? ''
      expect(await runCommand(place.kubeconfig, 'restore', record)).toMatchObject({ code: 0 })
      expect(await run('kubectl', ['get', 'configmap', 'shop', '-n', 'shop-pr-1', '-o', 'name'], place)).toBe(
        'configmap/shop',
      )
    } finally {
      await running.stop()
      rmSync(data, { recursive: true, force: true })
    }
  },
)
