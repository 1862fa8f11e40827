import { afterInventory, shardOf, shardsFor } from '../../src/systems/janitor/ledger/ledger.ts'
import { resource } from '../../test/janitor/fixtures.ts'
import { measure, mebibytes } from './measure.ts'

/** The use of a million resources is noted, twice, and sorted into shards. */
const count = Number(process.argv[2] ?? 1_000_000)
const day = 86_400_000
const start = Date.parse('2026-03-02T10:00:00Z')
const template = resource({ use: { state: 'used', by: 'Pod web' } })

function* resources() {
  for (let index = 0; index < count; index++)
    yield { ...template, uid: `0f3c2a9e-7c1d-4b1e-9d3a-${index.toString(16).padStart(12, '0')}` }
}

const { result, cpuMs, grownBytes } = await measure(async () => {
  const times = { maxGapMs: day, everyMs: day / 24 }
  const first = afterInventory(undefined, resources(), { now: start, ...times })
  const second = afterInventory(first, resources(), { now: start + day / 2, ...times })
  const shards = shardsFor(second.entries.size)
  const sizes = new Uint32Array(shards)
  for (const uid of second.entries.keys()) sizes[shardOf(uid, shards)] = (sizes[shardOf(uid, shards)] ?? 0) + 1
  return { state: second, shards, largest: Math.max(...sizes) }
})
console.log(
  `followed ${result.state.entries.size} resources twice: ${(cpuMs / 1000).toFixed(2)} s of CPU, ${mebibytes(grownBytes)} MiB, ${result.shards} shards of at most ${result.largest}`,
)
