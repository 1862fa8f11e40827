import { ownVersion } from '../app/config/version.ts'
import type { Io } from './terminal/command.ts'

/** Prints what is installed. */
export function printVersion(io: Io): number {
  io.out(`sojourn ${ownVersion()} (Node ${process.version})\n`)
  return 0
}
