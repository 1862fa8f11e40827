import { ownVersion } from '../app/config/version.ts'
import type { Io } from './terminal/command.ts'

/** Prints the version of Sojourn and of Node. */
export function printVersion(io: Io): number {
  io.out(`sojourn ${ownVersion()} (Node ${process.version})\n`)
  return 0
}
