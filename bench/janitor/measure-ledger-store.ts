import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { openSqliteStore } from '../../src/apiserver/store/sqlite-store.ts'
import { startTestServer } from '../../src/apiserver/testing.ts'
import { Client } from '../../src/client/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { lookedAt } from '../../src/systems/janitor/ledger.ts'
import { readLedger, writeLedger } from '../../src/systems/janitor/ledger-store.ts'
import { resource } from '../../src/systems/janitor/testing.ts'
import { measure, mebibytes } from './measure.ts'

/** The ledger of a million resources is written to the embedded server's database, read back, and written after another look. */
const count = Number(process.argv[2] ?? 1_000_000)
const day = 86_400_000
const start = Date.parse('2026-03-02T10:00:00Z')
const place = { policy: 'images', location: 'aws/main/eu-west-1' }
const times = { longestGapMs: day, everyMs: day / 24 }
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
const server = await startTestServer({ clock: systemClock, store: openSqliteStore({ path, clock: systemClock }) })
const client = new Client(server.transport)
const definitions = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
for (const { crd } of allKinds) await client.create(definitions, crd)

const first = lookedAt(
  undefined,
  resources(() => true),
  { now: start, ...times },
)
await say('written', () => writeLedger(client, { ...place, state: first, former: { state: undefined, shards: [] } }))
const former = await say('read back', () => readLedger(client, place.policy, place.location))
if (former.state?.entries.size !== count) throw new Error('entries are lost')
const second = lookedAt(
  former.state,
  resources((index) => index % 100 === 0),
  { now: start + day / 2, ...times },
)
await say('written after a look that saw one in a hundred in use', () =>
  writeLedger(client, { ...place, state: second, former }),
)
console.log(`the database has ${mebibytes(statSync(path).size)} MiB`)
await server.close()
rmSync(directory, { recursive: true, force: true })

async function say<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const { result, cpuMs, grownBytes } = await measure(work)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `${count} resources ${what}: ${(cpuMs / 1000).toFixed(1)} s of CPU with the server, ${seconds} s, ${mebibytes(grownBytes)} MiB more`,
  )
  return result
}
