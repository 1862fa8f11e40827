import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { backendCommand } from './contestants.ts'
import { pause, residentBytes, start } from './processes.ts'
import { wrk } from './wrk.ts'

/** What many warm requests do to the proxy on two threads. */
export interface Endurance {
  readonly requests: number
  readonly errors: number
  /** Resident memory at the end, in that after the first tenth of the requests. */
  readonly growth: number
  readonly megabytes: number
  /** The busier of its threads' processor time in the other's. */
  readonly imbalance: number
}

/** Sends this many requests through the proxy on two threads and all cores. */
export async function endure(requests: number): Promise<Endurance> {
  const [port, backendPort] = [19_300, 19_301]
  const backend = await start(backendCommand(backendPort), { cores: '0-1', port: backendPort })
  const script = join(import.meta.dirname, 'sojourn-proxy.ts')
  const proxy = await start([process.execPath, script, String(port), `127.0.0.1:${backendPort}`, '2'], {
    cores: '0-1',
    port,
  })
  try {
    let [sent, errors, early] = [0, 0, 0]
    while (sent < requests) {
      const load = await wrk(port, { connections: 64, seconds: 5, core: '0-1' })
      sent += load.requests
      errors += load.errors
      if (early === 0 && sent >= requests / 10) early = await restingBytes(proxy.pid)
    }
    const late = await restingBytes(proxy.pid)
    const [busiest = 0, second = 0] = threadTicks(proxy.pid)
    return { requests: sent, errors, growth: late / early, megabytes: late / 1e6, imbalance: busiest / second }
  } finally {
    await proxy.stop()
    await backend.stop()
  }
}

async function restingBytes(pid: number): Promise<number> {
  await pause(1000)
  return residentBytes(pid)
}

/** The processor time of each of a process's threads, the busiest first. */
function threadTicks(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`)
    .map((task) => {
      const text = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      return Number(fields[11]) + Number(fields[12])
    })
    .toSorted((left, right) => right - left)
}
