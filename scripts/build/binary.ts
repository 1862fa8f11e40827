import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, entries, typeFiles } from './bundle.ts'

/** Makes one executable for this platform of the pinned Node and the package's files. */
export async function buildBinary(packageFolder: string, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const parts = join(folder, 'parts')
  mkdirSync(parts, { recursive: true })
  // An executable imports no file, so each entry is one.
  for (const [name, file] of Object.entries(entries))
    await bundle({ folder: parts, input: { [name]: file }, isSingleFile: true })
  for (const name of Object.keys(entries)) {
    const path = join(parts, `${name}.js`)
    // A thread of the executable is a data: URL, from which nothing can be required.
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll('createRequire(import.meta.url)', 'createRequire(process.execPath)'),
    )
  }
  const node = join(folder, 'node')
  cpSync(process.execPath, node)
  stripped(node)
  const output = join(folder, process.platform === 'win32' ? 'sojourn.exe' : 'sojourn')
  const config = join(folder, 'sea.json')
  const settings = {
    main: join(parts, 'main.js'),
    mainFormat: 'module',
    executable: node,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    execArgvExtension: 'none',
    assets: assets(packageFolder, parts),
  }
  writeFileSync(config, JSON.stringify(settings))
  execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  // macOS refuses an executable whose signature does not match its content.
  if (process.platform === 'darwin') execFileSync('codesign', ['--force', '--sign', '-', output])
  rmSync(node)
  rmSync(config)
  rmSync(parts, { recursive: true })
  console.log(`${output}: ${(statSync(output).size / 1e6).toFixed(1)} MB`)
}

function assets(packageFolder: string, parts: string): Record<string, string> {
  const shipped = ['ui', 'crds', 'policies'].flatMap((folder) =>
    readdirSync(join(packageFolder, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  const types = typeFiles.map((file) => `dist/${file}`)
  const files = [...shipped, 'package.json', ...types, 'THIRD-PARTY-LICENSES.txt']
  const threads = Object.keys(entries).filter((name) => name.endsWith('-thread'))
  return {
    ...Object.fromEntries(
      files
        .filter((file) => statSync(join(packageFolder, file)).isFile())
        .map((file) => [file.replaceAll('\\', '/'), join(packageFolder, file)]),
    ),
    ...Object.fromEntries(threads.map((name) => [`dist/${name}.js`, join(parts, `${name}.js`)])),
  }
}

/** Without its symbols Node is 30 MB smaller. A machine without `strip` makes a larger executable. */
function stripped(node: string): void {
  try {
    execFileSync('strip', [node], { stdio: 'ignore' })
  } catch {
    console.error('strip is not installed: the executable keeps the symbols of Node')
  }
}
