import type { Clock } from './clock.ts'

/** Facts that go with a message. */
export type LogFields = Readonly<Record<string, unknown>>

/** Constant lower-case messages with facts as fields. Info: the world changed; error: someone should look; debug: the rest. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A logger that adds these fields to each of its lines. */
  with(fields: LogFields): Logger
}

export type LogLevel = 'debug' | 'info' | 'error'

export interface LogOptions {
  readonly clock: Clock
  /** Takes one line without its line feed. */
  readonly write: (line: string) => void
  /** The least important level that is written. Defaults to info. */
  readonly level?: LogLevel
  /** For people at a terminal rather than for machines. Defaults to false. */
  readonly pretty?: boolean
}

/** Writes lines: JSON, or columns for people. What looks like a secret is left out, control characters are escaped. */
export declare function createLogger(options: LogOptions): Logger

/** Says nothing. */
export declare const silentLogger: Logger
