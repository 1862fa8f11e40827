/** What a command may touch of the process. */
export interface Io {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: () => number
  /** Whether `out` is a terminal. */
  readonly isTerminal: boolean
  /** Whether `err` is: progress is for people. */
  readonly isErrTerminal: boolean
  /** Whether `out` may be coloured: only on a terminal, and never when NO_COLOR is set. */
  readonly colours: boolean
  readonly width: number
  /** How many lines `out` shows at once. */
  readonly height: number
  /** Aborts when the user has had enough. */
  readonly signal: AbortSignal
}

export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly help: string
  readonly short?: string
  /** What stands for the value in the help. */
  readonly value?: string
  readonly multiple?: boolean
  readonly completes?: Completes
}

/** What a shell may offer for a word or a value: these words, one or several of them with commas between, files, or names of what is in the cluster. */
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

/** One command of the program: what it is called, what it takes, what it does. */
export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** What follows the name in the usage line. */
  readonly usage?: string
  /** A few lines more, and examples. */
  readonly help?: string
  readonly flags: Readonly<Record<string, Flag>>
  /** How many words it takes beside flags. */
  readonly words?: { readonly least: number; readonly most: number; readonly completes?: readonly Completes[] }
  run(call: Call): Promise<number | void>
}

/** A command as it was called. */
export interface Call {
  readonly words: readonly string[]
  readonly flags: FlagValues
  readonly io: Io
}

/** The user said something that cannot be done: exit code 2, one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The flags every command has that reads from a cluster. */
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
    help: 'Only this namespace (default: the context’s)',
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

/** All the texts of a flag that may be given again. */
export function textFlags(flags: FlagValues, name: string): readonly string[] {
  const value = flags[name]
  return Array.isArray(value) ? (value as readonly string[]) : []
}

/** A flag's text, if it was given. */
export function textFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}
