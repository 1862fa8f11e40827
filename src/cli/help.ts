import type { Command } from './terminal/command.ts'

/** The overview: all commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return `sojourn manages the lifecycle of Kubernetes objects: promote, wake, sleep, warn, delete, restore.

Usage: sojourn COMMAND [flags]

Commands:
${lines.join('\n')}

Run "sojourn help COMMAND" for details. Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted.
`
}

/** The help of one command. */
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
