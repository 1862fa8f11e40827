import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchModules, hasGo, release } from './modules.ts'
import { readOpenApi } from './open-api.ts'
import { buildTable, type Table } from './table.ts'

/**
 * Writes the type table of the built-in kinds; with `--check` compares instead and fails when the committed one is stale.
 * The facts come from the Go modules of one Kubernetes release, so a Go toolchain is needed.
 */
const target = join(import.meta.dirname, '../../src/apiserver/schema/types/types.generated.json')
const isCheck = process.argv.includes('--check')

if (!hasGo()) {
  console.error('type-table: SKIPPED, there is no Go toolchain here: whether the type table is fresh was not checked')
  process.exit(isCheck ? 0 : 1)
}
const modules = fetchModules()
const text = print(buildTable(modules, readOpenApi(modules.kubernetes), release.kubernetes))
if (!isCheck) {
  writeFileSync(target, text)
  console.log(`type-table: wrote ${text.length} bytes`)
} else if (existsSync(target) && readFileSync(target, 'utf8') === text) {
  console.log(`type-table: fresh, as of Kubernetes ${release.kubernetes}`)
} else {
  console.error('type-table: types.generated.json is stale: run node scripts/type-table/generate.ts')
  process.exit(1)
}

/** One line per kind and type, so that a new release shows as a readable diff. */
function print({ release: from, kinds, types }: Table): string {
  const kindLines = kinds.map((kind) => JSON.stringify(kind)).join(',\n')
  const typeLines = Object.entries(types).map(([name, type]) => `${JSON.stringify(name)}:${JSON.stringify(type)}`)
  return `{"release":${JSON.stringify(from)},\n"kinds":[\n${kindLines}],\n"types":{\n${typeLines.join(',\n')}}}\n`
}
