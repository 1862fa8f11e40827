import { UsageError, type Command } from './terminal/command.ts'

/** Prints a shell completion script, which calls this program for each completion and so knows the version and the cluster. */
export const completion: Command = {
  name: 'completion',
  summary: 'Print completion for bash, zsh or fish',
  usage: 'bash|zsh|fish',
  help: `
Completes commands, flags, their values, and names of objects in the cluster.

Examples:
  source <(sojourn completion bash)
  sojourn completion zsh > "\${fpath[1]}/_sojourn"
  sojourn completion fish > ~/.config/fish/completions/sojourn.fish`,
  flags: {},
  words: { min: 1, max: 1, completes: [['bash', 'zsh', 'fish']] },
  run({ words, io }) {
    const script = scripts[words[0] ?? '']
    if (!script) throw new UsageError(`unknown shell "${words[0]}": use bash, zsh or fish`)
    io.out(script)
    return Promise.resolve()
  },
}

// No blank after a kind and its slash: a name follows.
const scripts: Readonly<Record<string, string>> = {
  bash: `_sojourn() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      COMPREPLY=( $(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}") )
      return
    fi
    COMPREPLY+=( "\${line%%$'\\t'*}" )
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case "\${COMPREPLY[0]}" in
    */) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -F _sojourn sojourn
`,
  zsh: `#compdef sojourn
_sojourn() {
  local -a lines described plain kinds
  local line
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    case "$line" in
      :files) _files; return ;;
      *$'\\t'*) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      */) kinds+=("$line") ;;
      *) plain+=("$line") ;;
    esac
  done
  (( $#described )) && _describe sojourn described
  (( $#kinds )) && compadd -S '' -- $kinds
  (( $#plain )) && compadd -- $plain
}
compdef _sojourn sojourn
`,
  fish: `function __sojourn_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = ':files'
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c sojourn -f -a '(__sojourn_complete)'
`,
}
