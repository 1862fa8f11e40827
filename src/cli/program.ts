import { parseArgs } from 'node:util'
import { ConfigError } from '../client/cluster-config.ts'
import { TransportError } from '../client/transport-error.ts'
import { isStatusError, type StatusError } from '../kube/status-error.ts'
import { UsageError, type Command, type FlagValues, type Io } from './terminal/command.ts'
import { nearest } from './terminal/nearest.ts'

/** Runs a command line. Returns the exit code: 0 fine, 1 failed, 2 wrong usage, 130 interrupted. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name = 'help', ...rest] = argv
  if (name === '--version') return main(['version', ...rest], io)
  if (['help', '--help', '-h'].includes(name)) return help(rest[0], io)
  if (name === '__complete' || name === '__complete-kubectl')
    return (await import('./complete.ts')).printCandidates(rest, io, name === '__complete-kubectl')
  if (name === '__demo-shop') return (await import('./operate/demo.ts')).serveShop(io)
  const command = await commandNamed(name)
  if (!command) return unknownCommand(name, io)
  // What follows `--` is not for this program.
  const own = rest.slice(0, rest.indexOf('--') >>> 0)
  if (own.includes('--help') || own.includes('-h')) return help(name, io)
  try {
    const { words, flags } = parse(command, rest)
    return (await command.run({ words, flags, io })) ?? 0
  } catch (error) {
    return failure(error, command, io)
  }
}

async function help(name: string | undefined, io: Io): Promise<number> {
  const { commands } = await import('./commands.ts')
  const { commandHelp, overview } = await import('./help.ts')
  if (name === 'help') return help(undefined, io)
  const command = commands.find((candidate) => candidate.name === name)
  if (name !== undefined && !command) return unknownCommand(name, io)
  const names = commands.map((each) => each.name)
  io.out(asStarted(command ? commandHelp(command) : overview(commands), names, io))
  return 0
}

/** Usage lines name the program as it was started, so that they can be typed: `kubectl sojourn status`. */
function asStarted(text: string, commands: readonly string[], { program = 'sojourn' }: Io): string {
  return text.replaceAll(
    new RegExp(`(?<![\\w./-])sojourn(?= (?:COMMAND|${['help', ...commands].join('|')})\\b)`, 'g'),
    program,
  )
}

async function unknownCommand(name: string, io: Io): Promise<number> {
  const { commands } = await import('./commands.ts')
  const guess = nearest(name, [...commands.map((command) => command.name), 'help'])
  const text = `sojourn: unknown command "${name}"${guess ? `; did you mean "${guess}"?` : ''}\nRun "sojourn help" for all commands.\n`
  io.err(asStarted(text, [], io))
  return 2
}

/** The command of this name. `up`, `run` and `version` are loaded alone, to start quickly. */
async function commandNamed(name: string): Promise<Command | undefined> {
  if (name === 'up') return (await import('./operate/up.ts')).up
  if (name === 'run') return (await import('./operate/run.ts')).run
  if (name === 'version') return (await import('./show/version.ts')).version
  const { commands } = await import('./commands.ts')
  return commands.find((candidate) => candidate.name === name)
}

function parse(command: Command, argv: readonly string[]): { words: readonly string[]; flags: FlagValues } {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short ? { short } : {}), ...(multiple ? { multiple } : {}) },
    ]),
  )
  let parsed: { values: FlagValues; positionals: string[] }
  try {
    parsed = parseArgs({
      args: [...argv],
      options,
      allowPositionals: true,
      allowNegative: true,
      strict: true,
    }) as typeof parsed
  } catch (error) {
    throw new UsageError(flagError(error as Error, command), { cause: error })
  }
  for (const [name, value] of Object.entries(parsed.values)) checkValue(command, name, value)
  const { min, max } = command.words ?? { min: 0, max: 0 }
  const given = parsed.positionals.length
  if (given < min || given > max)
    throw new UsageError(
      given < min
        ? `missing argument: it needs ${command.usage?.replace(' [flags]', '') ?? 'more arguments'}`
        : `unexpected argument "${parsed.positionals[max]}"`,
    )
  return { words: parsed.positionals, flags: parsed.values }
}

/** Rewords an error of Node's parser. */
function flagError({ message }: Error, { flags }: Command): string {
  const [, unknown] = /^Unknown option '(--?[^']+)'/.exec(message) ?? []
  if (unknown) {
    const guess = nearest(unknown.replace(/^-+/, ''), Object.keys(flags))
    return `unknown flag ${unknown}${guess ? `; did you mean --${guess}?` : ''}`
  }
  const [, flag] = /^Option '(?:-\w, )?(--[\w-]+)/.exec(message) ?? []
  const { value } = flags[flag?.slice(2) ?? ''] ?? {}
  if (flag && value)
    return `${flag} needs a value: ${flag} ${value}; one that begins with "-" is written ${flag}=${value}`
  return flag ? `${flag} takes no value` : (message.split('\n')[0] ?? message)
}

/** Checks a flag that takes one of a few values. */
function checkValue({ flags }: Command, name: string, value: unknown): void {
  const { completes } = flags[name] ?? {}
  if (!Array.isArray(completes) || typeof value !== 'string' || completes.includes(value)) return
  const words = completes as readonly string[]
  const guess = nearest(value, words)
  throw new UsageError(
    `--${name} is "${value}": it must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}${guess ? `; did you mean "${guess}"?` : ''}`,
  )
}

/** One line for every expected error; a stack trace only for a programming error. */
function failure(error: unknown, { name, usage }: Command, io: Io): number {
  if (error instanceof UsageError) {
    const text = `sojourn ${name}: ${error.message}\nUsage: sojourn ${name}${usage ? ` ${usage}` : ''}; run "sojourn help ${name}" for details.\n`
    io.err(asStarted(text, [name], io))
    return 2
  }
  if (error instanceof ConfigError) {
    io.err(`sojourn ${name}: ${error.message}\n`)
    return 2
  }
  if (error instanceof TransportError) {
    io.err(`sojourn ${name}: ${advice(error)}\n`)
    return 1
  }
  if (io.signal.aborted) return 130
  if (isStatusError(error)) {
    io.err(`sojourn ${name}: ${statusAdvice(error)}\n`)
    return 1
  }
  io.err(`sojourn ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return 1
}

function statusAdvice({ reason, message }: StatusError): string {
  switch (reason) {
    case 'Unauthorized':
      return `${message}: the token or certificate in the kubeconfig is invalid or expired. Get a new kubeconfig from the cluster's administrator; "sojourn up" writes DIR/kubeconfig at each start.`
    case 'Forbidden':
      return `${message}. Ask an administrator for this permission, or use another context with --context.`
    default:
      return message
  }
}

const untrusted =
  "The server's certificate is not signed by the authority in the kubeconfig: use the kubeconfig that belongs to it."
const unanswered = 'No answer: is the cluster up, and can this machine reach it?'
const noSuchHost = 'There is no such host: check "server" in the kubeconfig.'
const noTls = new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])

/** What to do about errors of connections, by their codes. */
const advices: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there: is "sojourn up" running, and is the kubeconfig from its last start?',
  CERT_HAS_EXPIRED: 'The server\'s certificate has expired: renew it, or start "sojourn up" again.',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_NOT_YET_VALID: "The server's certificate is not valid yet: is the clock of this machine correct?",
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate is for another name: check "server" in the kubeconfig, or set "tls-server-name".',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'Your own certificate in the kubeconfig has expired: get a new kubeconfig.',
  ENOTFOUND: noSuchHost,
  EAI_AGAIN: noSuchHost,
  ECONNRESET: 'The connection was closed: does "server" in the kubeconfig say https, and is the server still up?',
  ETIMEDOUT: unanswered,
  EHOSTUNREACH: unanswered,
  ENETUNREACH: unanswered,
}

function advice({ message, cause }: TransportError): string {
  const { code = '' } = (cause ?? {}) as { code?: string }
  if (noTls.has(code))
    return `${message.replace(/: write EPROTO.*/s, '')}: the server does not speak TLS: check "server" in the kubeconfig.`
  const help = advices[code]
  return help === undefined ? message : `${message}. ${help}`
}
