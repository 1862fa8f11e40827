import { readNamed } from '../../client/cluster-config.ts'
import { importSwabbie, type SwabbieImport } from '../../systems/janitor/swabbie/import-swabbie.ts'

/** Reads a swabbie.yml; placeholders are replaced from the environment. Throws ConfigError. */
export function readSwabbie(path: string): SwabbieImport {
  return importSwabbie(readNamed(path), (name) => process.env[name])
}
