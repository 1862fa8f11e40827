import { readFile } from 'node:fs/promises'
import { ConfigError } from './cluster-config.ts'

/** A token that is rotated in its file: read again every minute, and at once after `forget`. */
export function fileToken(path: string, now: () => number): { read(): Promise<string>; forget(): void } {
  let kept: { readonly token: string; readonly readAt: number } | undefined
  return {
    async read() {
      if (kept && now() - kept.readAt < 60_000) return kept.token
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new ConfigError(`cannot read the token in ${path}: ${error.code ?? error.message}`, { cause: error })
      })
      kept = { token: text.trim(), readAt: now() }
      return kept.token
    },
    forget() {
      kept = undefined
    },
  }
}
