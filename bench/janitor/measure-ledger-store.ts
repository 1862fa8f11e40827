import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { afterInventory } from '../../src/systems/janitor/ledger/ledger.ts'
import { readLedger, writeLedger } from '../../src/systems/janitor/ledger/ledger-store.ts'
import { resource } from '../../test/janitor/fixtures.ts'
import { measure, mebibytes } from './measure.ts'

/** The ledger of a million resources is written to an embedded server with a database in another process, read back, and written after another look. */
const count = Number(process.argv[2] ?? 1_000_000)
const day = 86_400_000
const start = Date.parse('2026-03-02T10:00:00Z')
const place = { policy: 'images', location: 'aws/main/eu-west-1' }
const times = { maxGapMs: day, everyMs: day / 24 }
const used = resource({ use: { state: 'used', by: 'Pod web' } })
const idle = resource({})

function* resources(isUsed: (index: number) => boolean) {
  for (let index = 0; index < count; index++)
    yield {
      ...(isUsed(index) ? used : idle),
      uid: `0f3c2a9e-7c1d-4b1e-9d3a-${index.toString(16).padStart(12, '0')}`,
    }
}

const directory = mkdtempSync(join(tmpdir(), 'ledger-'))
const path = join(directory, 'store.db')
const cluster = fork(join(import.meta.dirname, 'live-cluster.ts'), ['0', path])
const [kubeconfig] = (await once(cluster, 'message')) as [string]
writeFileSync(join(directory, 'kubeconfig'), kubeconfig)
const config = loadKubeconfig([join(directory, 'kubeconfig')], { now: () => systemClock.now(), env: {} })
const client = new Client(networkTransport(config).transport)

const first = afterInventory(
  undefined,
  resources(() => true),
  { now: start, ...times },
)
await say('written', () => writeLedger(client, { ...place, state: first, former: { state: undefined, shards: [] } }))
const former = await say('read back', () => readLedger(client, place.policy, place.location))
if (former.state?.entries.size !== count) throw new Error('entries are lost')
const second = afterInventory(
  former.state,
  resources((index) => index % 100 === 0),
  { now: start + day / 2, ...times },
)
await say('written after a look that saw one in a hundred in use', () =>
  writeLedger(client, { ...place, state: second, former }),
)
console.log(`the database has ${mebibytes(statSync(path).size)} MiB`)
cluster.kill('SIGKILL')
rmSync(directory, { recursive: true, force: true })
process.exit(0)

async function say<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const { result, cpuMs, keptBytes, peakBytes } = await measure(work)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `${count} resources ${what}: ${(cpuMs / 1000).toFixed(1)} s of CPU, ${seconds} s with the server; ${mebibytes(peakBytes)} MiB more at the most, ${mebibytes(keptBytes)} MiB kept`,
  )
  return result
}
