import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '../../../src/client/client.ts'
import { loadKubeconfig } from '../../../src/client/kubeconfig.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'

const main = join(import.meta.dirname, '../../../src/cli/main.ts')

/** A real `sojourn` process, once it has said that it runs. */
export interface SojournProcess {
  /** What its line says, by name: `api`, `proxy`, `url` … */
  readonly said: Readonly<Record<string, string>>
  readonly pid: number
  /** Ends it as an operator would, or without a word. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** Starts `sojourn ARGS…`; rejects with what it wrote if it ends before it runs. */
export function startSojourn(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<SojournProcess> {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...(PATH ? { PATH } : {}), ...(HOME ? { HOME } : {}), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, errors] = ['', '']
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const line = /^sojourn (?:ready|running) (.*)$/m.exec(out)?.[1]
      if (line === undefined) return
      resolve({ said: factsIn(line), pid: child.pid!, stop })
    })
    void ended.then(() => reject(new Error(`sojourn ${args.join(' ')} ended: ${errors || out}`)))
  })
}

/** The facts of the line that a process says once it runs. A value with a space in it is a JSON string. */
export function factsIn(line: string): Readonly<Record<string, string>> {
  const pairs = line.matchAll(/(\w+)=(?:("(?:[^"\\]|\\.)*")|(\S+))/g)
  return Object.fromEntries(
    pairs.map(([, name, text, plain]) => [name, text === undefined ? plain : (JSON.parse(text) as string)]),
  )
}

/** A cluster to run against: the embedded server with its workloads, in a process of its own. */
export interface ClusterProcess extends AsyncDisposable {
  readonly client: Client
  readonly kubeconfig: string
}

export async function startCluster(): Promise<ClusterProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'a cluster-'))
  const up = await startSojourn(['up', '--only', 'api,workloads', '--port', '0', '--data', directory, '--no-durable'])
  const kubeconfig = up.said['kubeconfig']!
  const network = networkTransport(loadKubeconfig([kubeconfig], { now: () => Date.now(), env: {} }))
  return {
    client: new Client(network.transport),
    kubeconfig,
    async [Symbol.asyncDispose]() {
      network.close()
      await up.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
