import { systemClock } from '../../runtime/time/clock.ts'
import { createLogger, type Logger } from '../../runtime/observability/log.ts'
import type { Config } from './config.ts'

/** The process's log: on the error stream, for people at a terminal and JSON elsewhere. */
export function createLog(
  { logLevel }: Pick<Config, 'logLevel'>,
  io: { readonly err: (text: string) => void; readonly isTerminal: boolean },
): Logger {
  return createLogger({
    clock: systemClock,
    write: (line) => io.err(`${line}\n`),
    level: logLevel,
    pretty: io.isTerminal,
  })
}
