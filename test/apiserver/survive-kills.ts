import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Clock } from '../../src/apiserver/store/clock.ts'
import { openSqliteStore } from '../../src/apiserver/store/sqlite-store.ts'
import type { Store, StoreEvent } from '../../src/apiserver/store/store.ts'
import { temporaryFolder } from './test-stores.ts'

export interface KillOptions {
  /** The program that runs TypeScript. */
  readonly node: string
  readonly rounds: number
  readonly clock: Clock
  readonly random: () => number
}

/** What was seen over all rounds. */
export interface KillReport {
  readonly acknowledged: number
  readonly events: number
  /** Sentences about anything that should not be; empty when all is well. */
  readonly faults: readonly string[]
}

interface Round {
  /** Name → the newest value whose write was acknowledged. */
  readonly acknowledged: Map<string, number>
  /** Revisions of the events that subscribers were told of. */
  readonly published: readonly number[]
}

/** Kills a process that writes with all its might, again and again, and looks each time at what is left. */
export async function surviveKills({ node, rounds, clock, random }: KillOptions): Promise<KillReport> {
  using folder = temporaryFolder()
  const path = join(folder.path, 'store.db')
  const faults: string[] = []
  let acknowledged = 0
  let events = 0
  let revision = 0
  for (let round = 0; round < rounds; round++) {
    const seen = await writeUntilKilled({ node, path, after: 20 + Math.floor(random() * 400) })
    await using store = openSqliteStore({ path, clock })
    if (store.revision < revision)
      faults.push(`round ${round}: revision went back from ${revision} to ${store.revision}`)
    faults.push(...lost(store, seen).map((fault) => `round ${round}: ${fault}`))
    const replay = replayAfter(store, revision)
    faults.push(...gaps(replay, revision, store.revision).map((fault) => `round ${round}: ${fault}`))
    acknowledged += seen.acknowledged.size
    events += replay.length
    revision = store.revision
  }
  return { acknowledged, events, faults }
}

/** Runs the writer until this many writes were acknowledged, and then kills it without warning. */
async function writeUntilKilled({ node, path, after }: { node: string; path: string; after: number }): Promise<Round> {
  const child = spawn(node, ['--input-type=module', '-e', writer, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged = new Map<string, number>()
  const published: number[] = []
  let count = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, name = '', value = ''] = line.split(' ')
    if (what === 'event') published.push(Number(name))
    if (what !== 'done' || value === '') continue
    acknowledged.set(name, Number(value))
    if (++count === after) child.kill('SIGKILL')
  }
  return { acknowledged, published }
}

function lost(store: Store, { acknowledged, published }: Round): string[] {
  const faults: string[] = []
  for (const [name, value] of acknowledged) {
    const stored = store.get({ resource: 'things', namespace: 'a', name })?.document.object.spec as
      | { v?: number }
      | undefined
    if ((stored?.v ?? -1) < value) faults.push(`${name} was acknowledged at ${value} and is ${stored?.v}`)
  }
  const newest = Math.max(0, ...published)
  if (newest > store.revision) faults.push(`event ${newest} was told and revision ${store.revision} is the newest`)
  return faults
}

/** Everything a watcher gets that resumes after this revision. */
function replayAfter(store: Store, revision: number): readonly StoreEvent[] {
  const events: StoreEvent[] = []
  for (let after = revision; after < store.revision;) {
    const page = store.changes({ resource: 'things', after, limit: 500 })
    events.push(...page.events)
    after = page.reached
  }
  return events
}

function gaps(events: readonly StoreEvent[], after: number, upTo: number): string[] {
  const from = after === 0 ? 1 : after
  const wrong = events.findIndex(({ document }, index) => document.revision !== from + 1 + index)
  if (wrong >= 0) return [`event ${wrong} of a resumed watch has revision ${events[wrong]?.document.revision}`]
  return events.length === upTo - from ? [] : [`a resumed watch got ${events.length} events of ${upTo - from}`]
}

/** Writes to a few names at once, forever, and says what was acknowledged. */
const writer = `
import { writeSync } from 'node:fs'
const { openSqliteStore } = await import('${new URL('../../src/apiserver/store/sqlite-store.ts', import.meta.url).href}')
const { put } = await import('${new URL('test-stores.ts', import.meta.url).href}')
const clock = { now: () => Date.now(), breathe: () => new Promise((resolve) => setImmediate(resolve)) }
const store = openSqliteStore({ path: process.argv[1], clock })
store.subscribe((events) => writeSync(1, events.map(({ document }) => 'event ' + document.revision + '\\n').join('')))
const work = async (name) => {
  const address = { resource: 'things', namespace: 'a', name }
  for (let v = (store.get(address)?.document.object.spec.v ?? 0) + 1; ; v++) {
    await put(store, address, { v, padding: 'x'.repeat(500) })
    writeSync(1, 'done ' + name + ' ' + v + '\\n')
  }
}
await Promise.all(Array.from({ length: 16 }, (_, n) => work('thing-' + n)))
`
