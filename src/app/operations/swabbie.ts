import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { importSwabbie, type SwabbieImport } from '../../systems/janitor/swabbie/import-swabbie.ts'

/** Reads a swabbie.yml; placeholders are replaced from the environment. Throws ConfigError. */
export function readSwabbie(path: string): SwabbieImport {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`, {
      cause: error,
    })
  }
  return importSwabbie(text, (name) => process.env[name])
}
