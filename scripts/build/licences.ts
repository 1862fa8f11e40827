import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
}

/** Licences that a bundled package may have. openpgp's LGPL allows it as a file of its own. */
const allowed = new Set([
  'Apache-2.0',
  'MIT',
  'MIT-0',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'Unlicense',
  'LGPL-3.0+',
  'LGPL-3.0-or-later',
  'Apache-2.0 AND MIT',
])

/** One text with name, version and licence of every package whose modules are in the bundle; throws on a licence that is not allowed. */
export function licencesOf(modules: Iterable<string>): string {
  const folders = new Set([...modules].flatMap((id) => packageFolder(id) ?? []))
  const parts = [...folders].toSorted().map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    const text = licenceText(folder)
    const licence =
      manifest.license ?? (text.includes('MIT License') || /Permission is hereby granted/.test(text) ? 'MIT' : '')
    if (!allowed.has(licence))
      throw new Error(`${manifest.name} ${manifest.version} has the licence "${licence}", which is not on the list`)
    const note = licence.startsWith('LGPL')
      ? 'This library is in a file of its own in dist/chunks: replace that file to use another version. The executable is rebuilt with "npm run build:binary".\n\n'
      : ''
    return `${manifest.name} ${manifest.version} (${licence})\n\n${note}${text.trim()}\n`
  })
  return `${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

function packageFolder(id: string): string | undefined {
  const [, folder] = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll('\\', '/')) ?? []
  return folder
}

function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)/i.test(name))
  if (file) return readFileSync(join(folder, file), 'utf8')
  // Some packages of the AWS SDK leave theirs out; they share the SDK's.
  const shared = join(folder, '../client-ec2/LICENSE')
  return folder.includes('/@aws') && existsSync(shared)
    ? readFileSync(shared, 'utf8')
    : 'No licence file is in the package.'
}
