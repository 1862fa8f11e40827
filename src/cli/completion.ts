import { UsageError, type Command } from './command.ts'

/** Prints what a shell needs to complete our words. The list of commands comes late: it includes this one. */
export function completion(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'Print completion for bash, zsh or fish',
    usage: 'bash|zsh|fish',
    help: `
Examples:
  source <(sojourn completion bash)
  sojourn completion fish > ~/.config/fish/completions/sojourn.fish`,
    flags: {},
    words: { least: 1, most: 1 },
    run({ words, io }) {
      const scripts: Readonly<Record<string, (all: readonly Command[]) => string>> = { bash, zsh, fish }
      const script = scripts[words[0] ?? '']
      if (!script) throw new UsageError(`"${words[0]}" is not a shell we know: bash, zsh or fish`)
      io.out(script(commands()))
      return Promise.resolve()
    },
  }
}

function bash(all: readonly Command[]): string {
  const cases = all.map(
    ({ name, flags }) =>
      `    ${name}) words="${Object.keys(flags)
        .map((flag) => `--${flag}`)
        .join(' ')}" ;;`,
  )
  return `_sojourn() {
  local words="${all.map(({ name }) => name).join(' ')} help version"
  if [ "$COMP_CWORD" -gt 1 ]; then
    words=""
    case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    esac
  fi
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _sojourn sojourn
`
}

function zsh(all: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "'\\''").replaceAll(':', '\\:')
  const named = all.map(({ name, summary }) => `    '${name}:${quote(summary)}'`)
  const cases = all.map(
    ({ name, flags }) =>
      `    ${name}) compadd -- ${Object.keys(flags)
        .map((flag) => `--${flag}`)
        .join(' ')} ;;`,
  )
  return `#compdef sojourn
_sojourn() {
  local -a commands
  commands=(
${named.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${cases.join('\n')}
  esac
}
compdef _sojourn sojourn
`
}

function fish(all: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "\\'")
  const lines = all.flatMap(({ name, summary, flags }) => [
    `complete -c sojourn -f -n __fish_use_subcommand -a ${name} -d '${quote(summary)}'`,
    ...Object.entries(flags).map(
      ([flag, { short, help }]) =>
        `complete -c sojourn -n '__fish_seen_subcommand_from ${name}' -l ${flag}${short ? ` -s ${short}` : ''} -d '${quote(help)}'`,
    ),
  ])
  return `${lines.join('\n')}\n`
}
