import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

/** The YAML library, loaded when it is first needed: most of what we read and write is JSON. */
export function yaml(): typeof Yaml {
  return (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml)
}

let loaded: typeof Yaml | undefined
