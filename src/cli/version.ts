import { readFileSync } from 'node:fs'
import type { Io } from './command.ts'

/** Prints what is installed. */
export function printVersion(io: Io): number {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  io.out(`sojourn ${version} (Node ${process.version})\n`)
  return 0
}
