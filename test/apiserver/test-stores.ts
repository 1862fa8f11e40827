import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoredObject } from '../../src/kube/object.ts'
import type { Clock } from '../../src/apiserver/store/clock.ts'
import { Document } from '../../src/apiserver/store/document.ts'
import { openMemoryStore } from '../../src/apiserver/store/sqlite-store.ts'
import { openSqliteStore } from '../../src/apiserver/store/sqlite-store.ts'
import type { Address, OwnerEdge, Store } from '../../src/apiserver/store/store.ts'

/** A clock for tests: time stands still until it is set. */
export class SetClock implements Clock {
  at = 1_700_000_000_000
  readonly #timers = new Set<{ readonly dueAt: number; readonly callback: () => void }>()

  now(): number {
    return this.at
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { dueAt: this.at + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  breathe(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve))
  }

  /** Moves time on and calls back what has come due, earliest first. */
  advance(ms: number): void {
    const end = this.at + ms
    for (;;) {
      const due = [...this.#timers].filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt)[0]
      if (!due) break
      this.#timers.delete(due)
      this.at = due.dueAt
      due.callback()
    }
    this.at = end
  }
}

/** A new folder for a store file, and how to remove it. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'sojourn-store-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** The store in memory and in a file, for suites that each must pass. */
export const storeKinds: readonly (readonly [name: string, open: (clock: Clock) => Store])[] = [
  ['in memory', (clock) => openMemoryStore(clock)],
  ['in a file', (clock) => openTemporary(clock)],
]

/** Writes one object as the objects layer would, by hand. */
export async function put(store: Store, address: Address, fields: Record<string, unknown> = {}): Promise<number> {
  const { owners, uid, ...spec } = fields as { owners?: readonly OwnerEdge[]; uid?: string }
  return store.write((view) => {
    const existing = view.get(address)
    const revision = view.nextRevision
    const id = uid ?? existing?.uid ?? `uid-of-${address.namespace}-${address.name}-${revision}`
    const change = {
      ...address,
      type: existing ? ('update' as const) : ('create' as const),
      uid: id,
      document: documentOf(address, { revision, uid: id, spec }),
      ...(owners ? { owners } : {}),
    }
    return { answer: revision, changes: [change] }
  })
}

/** Removes one object by hand; answers its last revision, or undefined when it was not there. */
export async function remove(store: Store, address: Address): Promise<number | undefined> {
  return store.write((view) => {
    const existing = view.get(address)
    if (!existing) return { answer: undefined, changes: [] }
    const revision = view.nextRevision
    const { uid } = existing
    const document = documentOf(address, { revision, uid, spec: existing.document.object.spec })
    return { answer: revision, changes: [{ ...address, type: 'delete' as const, uid, document, owners: [] }] }
  })
}

function documentOf(
  { namespace, name }: Address,
  { revision, uid, spec }: { readonly revision: number; readonly uid: string; readonly spec: unknown },
): Document {
  const metadata = { name, namespace, uid, resourceVersion: String(revision), creationTimestamp: '' }
  const object: StoredObject = { apiVersion: 'v1', kind: 'Thing', metadata, spec }
  return new Document(revision, JSON.stringify(object), object)
}

function openTemporary(clock: Clock): Store {
  const folder = temporaryFolder()
  const store = openSqliteStore({ path: join(folder.path, 'store.db'), clock, durable: false, cacheSize: 4096 })
  const close = store.close.bind(store)
  store.close = async () => {
    await close()
    folder[Symbol.dispose]()
  }
  return store
}
