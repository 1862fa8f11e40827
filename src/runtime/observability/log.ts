import { formatMicroTime } from '../../kube/time.ts'
import type { Clock } from '../time/clock.ts'
import { loggable } from './loggable.ts'

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
export function createLogger(options: LogOptions, fixed: LogFields = {}): Logger {
  const { clock, write, level = 'info', pretty = false } = options
  const format = pretty ? prettyLine : jsonLine
  const at =
    (lineLevel: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (weight[lineLevel] < weight[level]) return
      const facts = loggable({ ...fixed, ...fields }) as Record<string, unknown>
      write(format({ time: formatMicroTime(clock.now()), level: lineLevel, message, facts }))
    }
  return {
    debug: at('debug'),
    info: at('info'),
    error: at('error'),
    with: (fields) => createLogger(options, { ...fixed, ...fields }),
  }
}

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, error() {}, with: () => silentLogger }

const weight: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, error: 2 }

interface Line {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

function jsonLine({ time, level, message, facts }: Line): string {
  return JSON.stringify({ time, level, message, ...facts })
}

const colour: Readonly<Record<LogLevel, string>> = { debug: '2', info: '36', error: '31' }

function prettyLine({ time, level, message, facts }: Line): string {
  const columns = Object.entries(facts).map(([name, value]) => `\u001b[2m${plain(name)}=\u001b[0m${prettyValue(value)}`)
  const head = `\u001b[2m${time.slice(11, 23)}\u001b[0m \u001b[${colour[level]}m${level.padEnd(5)}\u001b[0m ${plain(message)}`
  return columns.length > 0 ? `${head}  ${columns.join(' ')}` : head
}

function prettyValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[^\s"]+$/.test(text) || typeof value !== 'string' ? plain(text) : plain(JSON.stringify(text))
}

/** Names come from strangers: what a terminal would obey is shown instead. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
