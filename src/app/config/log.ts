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

/** Also logs what fails while nothing waits for it, and lets the process go on: one bad object must not end the work on all others. */
export function logUnhandled(log: Logger): Logger {
  process.on('unhandledRejection', (error) =>
    log.error('internal error', { error: error instanceof Error ? error.stack : String(error) }),
  )
  return log
}
