import type { Command } from './terminal/command.ts'

/** All commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return `sojourn looks after everything that runs on Kubernetes for the whole of its stay.

Usage: sojourn COMMAND [flags]

Commands:
${lines.join('\n')}
  ${'version'.padEnd(width)}  Print the version

"sojourn help COMMAND" tells more about each. Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted.
`
}

/** Everything about one command. */
export function commandHelp({ name, summary, usage, help, flags }: Command): string {
  const shown = Object.entries(flags).map(([flag, { short, value, help: text }]) => ({
    left: `${short ? `-${short}, ` : '    '}--${flag}${value ? ` ${value}` : ''}`,
    text,
  }))
  const width = Math.max(0, ...shown.map(({ left }) => left.length))
  const lines = shown.map(({ left, text }) => `  ${left.padEnd(width)}  ${text}`)
  return `${summary}.

Usage: sojourn ${name}${usage ? ` ${usage}` : ''}
${help ? `\n${help.trim()}\n` : ''}${lines.length > 0 ? `\nFlags:\n${lines.join('\n')}\n` : ''}`
}
