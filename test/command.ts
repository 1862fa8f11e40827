import { main } from '../src/cli/program.ts'

export interface Answer {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command of the CLI in this process, as a script would: no terminal, no environment. */
export async function runCommand(kubeconfig: string, ...words: readonly string[]): Promise<Answer> {
  let [out, err] = ['', '']
  const code = await main([...words, '--kubeconfig', kubeconfig], {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env: {},
    now: () => Date.now(),
    isTerminal: false,
    isErrTerminal: false,
    colours: false,
    width: 100,
    height: 50,
    signal: new AbortController().signal,
  })
  return { code, out, err }
}
