import { describe, expect, it } from 'vitest'
import type { Peers, DrainReport } from './peers.ts'
import { alone } from './peers.ts'
import { cell } from './proxy/counters.ts'
import type { TargetLoad } from './proxy/data-plane.ts'
import { SilentDataPlane } from './proxy/silent-data-plane.ts'
import type { Publisher } from './publisher.ts'
import type { OnDemandService } from './route-book.ts'
import { TwoPhaseSleep } from './two-phase-sleep.ts'
import { UsageTracker } from './usage.ts'

const now = 1_000_000
const idle: DrainReport = { busy: 0, waiting: 0, idleMs: 900_000 }
const web = { id: 'shop/web', wishes: { ttlMs: 60_000 } } as OnDemandService

interface Given {
  readonly load?: TargetLoad
  readonly reports?: readonly DrainReport[] | Error
  /** Happens while the other replicas are asked. */
  readonly meanwhile?: (cells: Int32Array) => void
  readonly before?: (cells: Int32Array) => void
}

/** Attempts a sleep of what was last used long ago, and tells what came of it. */
async function attempt({ load = { busy: 0, waiting: 0 }, reports = [idle], meanwhile, before }: Given) {
  const told: string[] = []
  class Plane extends SilentDataPlane {
    override drain(): Promise<TargetLoad> {
      told.push('drained')
      return Promise.resolve(load)
    }
  }
  const plane = new Plane()
  const usage = new UsageTracker(() => plane.counters)
  const cells = plane.counters[0]!.slot(usage.slotOf(web.id, 0))
  before?.(cells)
  const peers: Peers = {
    ...alone(),
    drain: () => {
      meanwhile?.(cells)
      return reports instanceof Error ? Promise.reject(reports) : Promise.resolve(reports)
    },
    release: () => told.push('peers released'),
  }
  const publisher = {
    hold: () => told.push('held'),
    release: () => told.push('released'),
    drain: () => plane.drain(),
  } as unknown as Publisher
  const sleep = new TwoPhaseSleep({ peers, publisher, usage, now: () => now })
  const write = () => Promise.resolve(void told.push('written'))
  const result = await sleep.attempt([web], 0, write).catch((error: unknown) => error)
  return { told, result, lastUsedAt: usage.of([web.id], now).lastUsedAt }
}

describe('a sleep in two phases', () => {
  it('is written when everybody is idle, and only after everybody holds back', async () => {
    const { told, result } = await attempt({})
    expect(result).toBe(true)
    expect(told).toEqual(['held', 'drained', 'written', 'released'])
  })

  it.each<[string, Given]>([
    ['something is still under way here', { load: { busy: 1, waiting: 0 } }],
    ['someone waits here', { load: { busy: 0, waiting: 1 } }],
    ['it was used since it was judged', { before: (cells) => (cells[cell.started]!++, cells[cell.finished]!++) }],
    ['another replica is busy', { reports: [idle, { ...idle, busy: 1 }] }],
    ['someone waits at another replica', { reports: [{ ...idle, waiting: 1 }] }],
    ['another replica used it lately', { reports: [{ ...idle, idleMs: 59_999 }] }],
    [
      'someone comes while the others are asked',
      { meanwhile: (cells) => (cells[cell.started]!++, cells[cell.waiting]!++) },
    ],
  ])('is not written when %s, and everybody goes on (C54)', async (_, given) => {
    const { told, result } = await attempt(given)
    expect(result).toBe(false)
    expect(told).not.toContain('written')
    expect(told.slice(-2)).toEqual(['peers released', 'released'])
  })

  it('is not written when another replica cannot be asked (C54)', async () => {
    const { told, result } = await attempt({ reports: new Error('no answer') })
    expect(result).toBeInstanceOf(Error)
    expect(told).not.toContain('written')
    expect(told.slice(-2)).toEqual(['peers released', 'released'])
  })

  it('learns from another replica when it was last used', async () => {
    expect((await attempt({ reports: [{ ...idle, idleMs: 5000 }] })).lastUsedAt).toBe(now - 5000)
  })
})
