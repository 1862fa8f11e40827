import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'
import { pathToFileURL } from 'node:url'

/** A file of the package by its name there, such as `ui/index.html`. */
export function readPackageFile(name: string): Buffer {
  if (isSea()) return Buffer.from(getRawAsset(name) as ArrayBuffer)
  return readFileSync(join(packageRoot(), isSource ? placeInSource(name) : name))
}

/** The names, relative to the folder, of all files below a folder of the package. */
export function listPackageFiles(folder: string): readonly string[] {
  const prefix = `${folder}/`
  if (isSea()) return getAssetKeys().flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []))
  return readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll('\\', '/'),
  )
}

/** The program's worker threads and the files that run in them. The build makes `dist/NAME-thread.js` of each. */
export const threads = {
  forecast: 'src/app/threads/forecast-worker.ts',
  parsing: 'src/app/threads/parsing-worker.ts',
  proxy: 'src/systems/activator/proxy/planes/worker.ts',
} as const

/** What a `Worker` starts for this thread. */
export function threadEntry(name: keyof typeof threads): URL {
  if (isSea())
    return new URL(`data:text/javascript;base64,${readPackageFile(`dist/${name}-thread.js`).toString('base64')}`)
  return pathToFileURL(join(packageRoot(), isSource ? threads[name] : `dist/${name}-thread.js`))
}

/** Whether the program runs from the checkout, not from a bundle. */
export const isSource = import.meta.url.endsWith('.ts')

/** Some files stand elsewhere in the checkout than in the package. */
function placeInSource(name: string): string {
  return name.replace(/^dist\/types/, 'src/apiserver/schema/types/types').replace(/^policies\//, 'deploy/policies/')
}

let root: string | undefined

/** The nearest folder above this file with a `package.json`. */
export function packageRoot(): string {
  if (root !== undefined) return root
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return (root = folder)
}
