import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What wrk measured. */
export interface Load {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
}

export interface LoadOptions {
  readonly connections: number
  readonly seconds: number
  readonly core: string
  /** Whom the requests are for. Defaults to the address. */
  readonly host?: string
}

/** Loads a port for some seconds, from one thread on one core. */
export async function wrk(port: number, { connections, seconds, core, host }: LoadOptions): Promise<Load> {
  const fields = host === undefined ? [] : ['-H', `Host: ${host}`]
  const shape = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...fields]
  const args = ['-c', core, 'wrk', ...shape, `http://127.0.0.1:${port}/`]
  const { stdout } = await promisify(execFile)('taskset', args)
  const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0)
  const refused = number(/Non-2xx or 3xx responses: (\d+)/)
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)
  return {
    requests: number(/(\d+) requests in/),
    perSecond: number(/Requests\/sec:\s+([\d.]+)/),
    p50Ms: milliseconds(/50%\s+([\d.]+\w+)/.exec(stdout)?.[1]),
    p99Ms: milliseconds(/99%\s+([\d.]+\w+)/.exec(stdout)?.[1]),
    errors: refused + (broken?.slice(1).reduce((sum, each) => sum + Number(each), 0) ?? 0),
  }
}

function milliseconds(text: string | undefined): number {
  const [, amount = '0', unit = 'ms'] = /^([\d.]+)(us|ms|s)$/.exec(text ?? '') ?? []
  return Number(amount) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's']
}
