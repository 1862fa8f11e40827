import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

/** `sojourn run --only collector`, a process of its own, once it is at work. */
export async function startCollector(kubeconfig: string): Promise<ChildProcess> {
  const main = join(import.meta.dirname, '../../src/cli/main.ts')
  const args = [main, 'run', '--only', 'collector', '--port', '0', '--kubeconfig', kubeconfig]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const chunk of child.stdout?.setEncoding('utf8') ?? []) {
    said += chunk as string
    if (said.includes('sojourn running')) break
  }
  child.stdout?.resume()
  return child
}
