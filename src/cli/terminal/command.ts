import { parseLongDuration } from '../../kube/time.ts'

/** What a command may use of the process. */
export interface Io {
  /** What a user types to start this program. Defaults to `sojourn`. */
  readonly program?: string
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: () => number
  /** Whether `out` is a terminal. */
  readonly isTerminal: boolean
  /** Whether `err` is a terminal: only then a progress bar is drawn. */
  readonly isErrTerminal: boolean
  /** Whether `out` may be coloured: only on a terminal, and never when NO_COLOR is set. */
  readonly colours: boolean
  readonly width: number
  /** How many lines `out` shows at once. */
  readonly height: number
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly help: string
  readonly short?: string
  /** The placeholder of the value in the help. */
  readonly value?: string
  readonly multiple?: boolean
  readonly completes?: Completes
}

/** How the shell completes a word or value: one of these words, a comma-separated list of them, files, or names from the cluster. */
export type Completes =
  | readonly string[]
  | { readonly listOf: readonly string[] }
  | 'files'
  | 'namespaces'
  | 'contexts'
  | 'objects'
  | 'departures'
  | 'pipelines'
  | 'environments'
  | 'revisions'

export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

/** One command: its name, its arguments, and what it does. */
export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** The rest of the usage line. */
  readonly usage?: string
  /** Details and examples. */
  readonly help?: string
  readonly flags: Readonly<Record<string, Flag>>
  /** How many arguments it takes beside flags. */
  readonly words?: { readonly min: number; readonly max: number; readonly completes?: readonly Completes[] }
  run(call: Call): Promise<number | void>
}

/** A command as it was called. */
export interface Call {
  readonly words: readonly string[]
  readonly flags: FlagValues
  readonly io: Io
}

/** Wrong usage: exit code 2, one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The flags of every command that reads from a cluster. */
export const readFlags = {
  output: {
    type: 'string',
    short: 'o',
    value: 'FORMAT',
    help: 'table, json or yaml (default: table)',
    completes: ['table', 'json', 'yaml'],
  },
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME',
    help: 'Only this namespace (default: that of the context)',
    completes: 'namespaces',
  },
  'all-namespaces': { type: 'boolean', short: 'A', help: 'All namespaces' },
  kubeconfig: {
    type: 'string',
    value: 'FILE',
    help: 'Kubeconfig to use (default: KUBECONFIG, a running `sojourn up`, in-cluster)',
    completes: 'files',
  },
  context: { type: 'string', value: 'NAME', help: 'Context of the kubeconfig', completes: 'contexts' },
} as const satisfies Record<string, Flag>

/** All values of a repeatable flag. */
export function textFlags(flags: FlagValues, name: string): readonly string[] {
  const value = flags[name]
  return Array.isArray(value) ? (value as readonly string[]) : []
}

/** A flag's value, if given. */
export function textFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}

/** The duration that a flag says, in milliseconds, if given. */
export function durationFlag(flags: FlagValues, name: string): number | undefined {
  const written = textFlag(flags, name)
  const ms = parseLongDuration(written ?? '')
  if (written !== undefined && (ms === undefined || ms <= 0))
    throw new UsageError(`--${name} is "${written}": it must be a duration such as 90m, 36h or 3d`)
  return ms
}
