import type { Io } from './command.ts'

/** Shows the progress of long work: a bar on a terminal, a line per stage otherwise. */
export interface Progress extends Disposable {
  /** `done` is from 0 to 1. */
  readonly show: (doing: string, done: number) => void
  /** Clears the bar. */
  end(): void
}

/** Writes progress to the error stream, never to the output. */
export function progress({ err, isErrTerminal, width }: Pick<Io, 'err' | 'isErrTerminal' | 'width'>): Progress {
  let stage = ''
  let shown = ''
  const end = () => {
    if (isErrTerminal && shown) err('\r\u001B[K')
    shown = ''
  }
  return {
    show(doing, done) {
      if (!isErrTerminal) {
        if (doing !== stage) err(`${doing} …\n`)
        stage = doing
        return
      }
      const line = bar(doing, done, Math.min(width, 80))
      if (line !== shown) err(`\r\u001B[K${line}`)
      shown = line
    },
    end,
    [Symbol.dispose]: end,
  }
}

/** `reading      [#######-------]  50%` */
function bar(doing: string, done: number, width: number): string {
  const room = Math.max(10, width - 24)
  const filled = Math.round(room * Math.min(1, Math.max(0, done)))
  const percent = `${Math.floor(done * 100)}%`.padStart(4)
  return `${doing.padEnd(14)} [${'#'.repeat(filled)}${'-'.repeat(room - filled)}] ${percent}`
}
