import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeTypes } from './descriptions.ts'
import { fetchModules, hasGo, release } from './modules.ts'
import { readOpenApi } from './open-api.ts'
import { buildTable, type Table } from './table.ts'

/**
 * Writes the type table of the built-in kinds; with `--check` compares instead and fails when the committed one is stale.
 * The facts come from the Go modules of one Kubernetes release, so a Go toolchain is needed.
 */
const folder = join(import.meta.dirname, '../../src/apiserver/schema/types')
const isCheck = process.argv.includes('--check')

if (!hasGo()) {
  console.error('type-table: SKIPPED, there is no Go toolchain here: whether the type table is fresh was not checked')
  process.exit(isCheck ? 0 : 1)
}
const modules = fetchModules()
const openApi = readOpenApi(modules.kubernetes)
const table = buildTable(modules, openApi, release.kubernetes)
const files = {
  'types.generated.json': print(table),
  'types-descriptions.generated.json': describeTypes(table, openApi),
}
for (const [name, text] of Object.entries(files)) {
  const target = join(folder, name)
  if (!isCheck) {
    writeFileSync(target, text)
    console.log(`type-table: wrote ${name}, ${text.length} bytes`)
  } else if (existsSync(target) && readFileSync(target, 'utf8') === text) {
    console.log(`type-table: ${name} is fresh, as of Kubernetes ${release.kubernetes}`)
  } else {
    console.error(`type-table: ${name} is stale: run node scripts/type-table/generate.ts`)
    process.exit(1)
  }
}

/** One line per kind and type, so that a new release shows as a readable diff. */
function print({ release: from, kinds, types }: Table): string {
  const kindLines = kinds.map((kind) => JSON.stringify(kind)).join(',\n')
  const typeLines = Object.entries(types).map(([name, type]) => `${JSON.stringify(name)}:${JSON.stringify(type)}`)
  return `{"release":${JSON.stringify(from)},\n"kinds":[\n${kindLines}],\n"types":{\n${typeLines.join(',\n')}}}\n`
}
