import { join } from 'node:path'
import { rolldown, type OutputChunk, type Plugin, type RolldownOptions } from 'rolldown'
import { threads } from '../../src/packaging/package-files.ts'

export const root = join(import.meta.dirname, '../..')

/** What the embedded server knows of Kubernetes' types. */
export const typeFiles = ['types.generated.json', 'types-descriptions.generated.json']

/** The entries of the program: the command line, and one per worker thread. */
export const entries: Readonly<Record<string, string>> = {
  main: 'src/cli/main.ts',
  ...Object.fromEntries(Object.entries(threads).map(([name, file]) => [`${name}-thread`, file])),
}

interface BundleOptions {
  readonly folder: string
  readonly input: Readonly<Record<string, string>>
  /** One file per entry, as an executable needs it; otherwise what is loaded later is a chunk of its own. */
  readonly isSingleFile: boolean
}

/** Bundles entries into a folder and returns the chunks, which name the modules that went in. */
export async function bundle({ folder, input, isSingleFile }: BundleOptions): Promise<readonly OutputChunk[]> {
  const options: RolldownOptions = {
    cwd: root,
    input: { ...input },
    platform: 'node',
    // Optional native parts of ssh2, which falls back to node:crypto.
    external: [/^cpu-features$/, /\.node$/],
    plugins: [lazyYaml],
  }
  await using build = await rolldown(options)
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: isSingleFile
      ? false
      : // The LGPL asks that a user can replace the library.
        { groups: [{ name: 'openpgp', test: /node_modules[\\/]openpgp[\\/]/ }] },
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    comments: { legal: false },
  })
  return output.filter((part) => part.type === 'chunk')
}

/** In the source, `yaml` is loaded by `createRequire`, which a bundler does not follow. */
const lazyYaml: Plugin = {
  name: 'lazy-yaml',
  load: (id) =>
    id.endsWith(join('src', 'kube', 'yaml.ts')) ? `export function yaml() { return require('yaml') }` : null,
}
