import { expect } from 'vitest'
import { savingsReport, type SavingsReport, type SavingsRow } from '../src/apis/savings-report.ts'
import { Client } from '../src/client/client.ts'
import { kubeSubject } from '../src/departures/subjects/subject.ts'
import { deployments } from '../src/kube/core-types.ts'
import type { StoredObject } from '../src/kube/object.ts'
import { formatTime } from '../src/kube/time.ts'
import { defaultPrices } from '../src/prices/prices.ts'
import { Informers } from '../src/runtime/cache/informers.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { Metrics } from '../src/runtime/observability/metrics.ts'
import { quietClock } from '../src/runtime/time/quiet-clock.ts'
import { Accountant, type AccountantOptions } from '../src/systems/savings/accountant.ts'
import type { World } from './world.ts'

const day = 86_400_000

/** Starts an accountant with caches of its own, as a new process would. `kill` ends it without a last write. */
export function launch(world: World, given: Partial<AccountantOptions> = {}) {
  const client = new Client(world.server.transport)
  const { clock } = world
  const informers = new Informers({ clock: quietClock(clock), log: silentLogger }, { freeze: true })
  const metrics = new Metrics()
  const ports = { clock, log: silentLogger, metrics }
  const accountant = new Accountant({ client, informers, ports, prices: defaultPrices, horizonMs: 30 * day, ...given })
  const stopping = new AbortController()
  const running = accountant.controller.start(stopping.signal)
  const kill = async () => {
    stopping.abort()
    await running
    informers.close()
  }
  return {
    metrics,
    kill,
    async stop() {
      stopping.abort()
      await running
      await accountant.close()
      informers.close()
    },
  }
}

export function deploymentOf(name = 'shop', namespace = 'team', replicas = 2) {
  const labels = { app: name }
  const resources = { requests: { cpu: '250m', memory: '512Mi' } }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1', resources }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: { replicas, selector: { matchLabels: labels }, template },
  }
}

/** As the activator puts it to sleep and wakes it. */
export async function scale(world: World, replicas: number, { name = 'shop', namespace = 'team', former = 2 } = {}) {
  const asleep = {
    'sojourn.dev/former-replicas': String(former),
    'sojourn.dev/asleep-since': formatTime(world.clock.now()),
  }
  const annotations = replicas < former ? asleep : { 'sojourn.dev/asleep-since': null }
  const body = { metadata: { annotations }, spec: { replicas } }
  await world.client.patch(deployments, { namespace, name }, { type: 'merge', body })
  await world.pass(0)
}

export async function depart(world: World, name = 'shop', namespace = 'team') {
  const { metadata } = await world.client.get<StoredObject>(deployments, { namespace, name })
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }
  const by = { system: 'cleaner' } as const
  const subject = kubeSubject(world.client, deployments, ref)
  const result = await world.door.depart({ subject, uid: metadata.uid, because: 'target', by })
  expect(result.result).toBe('gone')
}

export const rowsOf = async (world: World) =>
  (await world.client.list<SavingsReport>(savingsReport.type, { namespace: 'sojourn-system' })).items.flatMap(
    ({ spec }) => spec.rows,
  )
export const hoursOf = (rows: readonly SavingsRow[], state?: string) =>
  rows
    .filter((row) => state === undefined || row.state === state)
    .reduce((sum, row) => sum + (row.cpuSeconds ?? 0), 0) / 3600
