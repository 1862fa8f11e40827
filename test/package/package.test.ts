import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureTool, whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { run, runBeside, Started, type Program } from './started.ts'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'sojourn-installed-'))
const installed = join(folder, 'node_modules/sojourn')
const released = join(root, 'build/release')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
afterAll(() => {
  chmodAll(folder, 0o755)
  rmSync(folder, { recursive: true, force: true })
})

/** The programs under test, each with nothing of this machine but the folder of Node on its PATH, or nothing at all. */
const home = join(folder, 'home')
const programs: Readonly<Record<string, Program>> = {
  package: {
    command: [join(folder, 'node_modules/.bin/sojourn')],
    env: { PATH: join(folder, 'path'), HOME: home },
  },
  executable: { command: [join(root, 'build/binary/sojourn')], env: {} },
}

beforeAll(() => {
  mkdirSync(home)
  mkdirSync(join(folder, 'path'))
  symlinkSync(process.execPath, join(folder, 'path/node'))
  symlinkSync('/usr/bin/env', join(folder, 'path/env'))
  const env = { ...process.env, HOME: home }
  execFileSync(
    'npm',
    ['install', '--prefix', folder, '--offline', '--ignore-scripts', join(released, `sojourn-${version}.tgz`)],
    { env },
  )
  chmodAll(installed, 0o555)
})

describe('a release', () => {
  it('has package, executable, bill of materials, notes and krew manifest, each with its checksum', () => {
    const sums = new Map(
      readFileSync(join(released, 'SHA256SUMS'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split('  ').toReversed() as [string, string]),
    )
    const archive = `sojourn-${version}-${process.platform}-${process.arch}.tar.gz`
    for (const file of [`sojourn-${version}.tgz`, archive, `sojourn-${version}.cdx.json`, 'notes.md'])
      expect(
        createHash('sha256')
          .update(readFileSync(join(released, file)))
          .digest('hex'),
        file,
      ).toBe(sums.get(file))
    expect(readFileSync(join(released, 'sojourn.krew.yaml'), 'utf8')).toContain(sums.get(archive))
  })

  it('has an archive whose program runs by each of its names, with an empty PATH', () => {
    const unpacked = join(folder, 'archive')
    mkdirSync(unpacked)
    const archive = join(released, `sojourn-${version}-${process.platform}-${process.arch}.tar.gz`)
    execFileSync('tar', ['-xzf', archive, '-C', unpacked])
    const started = (name: string, ...args: readonly string[]) =>
      run({ command: [join(unpacked, name)], env: {} }, ...args).stdout
    for (const name of ['sojourn', 'kubectl-sojourn']) expect(started(name, 'version')).toContain(`sojourn ${version} `)
    expect(started('sojourn', 'help', 'restore')).toMatch(/^Usage: sojourn restore/m)
    expect(started('kubectl_complete-sojourn', 'depart')).toMatch(/^departures\t/)
  })
})

describe('the npm package', () => {
  it('is one package without dependencies, scripts, sources or type files', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['sojourn'])
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
    expect(Object.keys(manifest).filter((key) => /ependencies|scripts/.test(key))).toEqual([])
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => /\.ts$|\.map$|\.node$|tsconfig|\.test\./.test(file))).toEqual([])
    for (const file of [
      'dist/cli.js',
      'ui/index.html',
      'crds/cleaners.cleaner.vtex.dev.yaml',
      'THIRD-PARTY-LICENSES.txt',
    ])
      expect(existsSync(join(installed, file)), file).toBe(true)
  })

  it.each(Object.keys(programs))(
    'is a plugin of kubectl, with its own usage lines and completion: the %s',
    async (name) => {
      const { command, env } = programs[name] ?? { command: [], env: {} }
      const plugins = join(folder, `plugins-${name}`)
      mkdirSync(plugins)
      for (const link of ['kubectl-sojourn', 'kubectl_complete-sojourn'])
        symlinkSync(
          name === 'package' ? join(folder, 'node_modules/.bin', link) : (command[0] ?? ''),
          join(plugins, link),
        )
      const started = (link: string, ...args: readonly string[]) =>
        run({ command: [join(plugins, link)], env }, ...args)
      expect(started('kubectl-sojourn', 'help', 'restore').stdout).toMatch(
        /^Usage: kubectl sojourn restore KIND\/NAME/m,
      )
      expect(started('kubectl-sojourn', 'keep', '--nonsense').stderr).toContain('run "kubectl sojourn help keep"')
      expect(started('kubectl_complete-sojourn', 'depart').stdout).toMatch(/^departures\t.*\n:4\n$/)
      const missing = await whyUnavailable('kubectl')
      if (missing) return console.warn(`SKIPPED: that kubectl finds the plugin was NOT shown: ${missing}`)
      const path = [plugins, env['PATH']].filter(Boolean).join(':')
      const kubectl = { command: [await ensureTool('kubectl')], env: { ...env, PATH: path, HOME: home } }
      expect(run(kubectl, 'sojourn', 'version').stdout).toMatch(/^sojourn \d/)
      expect(run(kubectl, '__complete', 'sojourn', 'depart').stdout).toMatch(/^departures\t.*\n:4/)
    },
  )

  it('is smaller than 40 MB unpacked', () => {
    const bytes = sizeOf(installed)
    console.log(`unpacked: ${(bytes / 1e6).toFixed(1)} MB`)
    expect(bytes).toBeLessThan(40e6)
  })

  it('names the licence of everything it bundles, and keeps openpgp replaceable', () => {
    const licences = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const name of ['openpgp', 'nodemailer', 'ssh2', '@aws-sdk/client-ec2', 'yaml', 're2js'])
      expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'))
    expect(readdirSync(join(installed, 'dist/chunks')).filter((file) => file.startsWith('openpgp'))).not.toEqual([])
  })

  it('says that an old Node is too old', () => {
    // npm puts the pinned Node of the checkout in front of the machine's own.
    const paths = (process.env['PATH'] ?? '').split(':').filter((path) => !path.includes('node_modules'))
    const env = { ...process.env, PATH: paths.join(':') }
    const old = spawnSync('node', ['--version'], { encoding: 'utf8', env }).stdout
    if (!/^v(?:1\d|2[0-5])\./.test(old))
      return console.warn(`*** SKIPPED: the Node on PATH is ${old.trim()}, not an old one`)
    const { status, stderr } = spawnSync('node', [join(installed, 'dist/cli.js'), 'version'], {
      encoding: 'utf8',
      env,
    })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `sojourn: needs Node 26 or newer; this is ${old.trim()}.\n`,
    })
  })
})

describe.each(Object.entries(programs))('the %s', (_, program) => {
  it('tells its version and helps', () => {
    expect(run(program, 'version')).toMatchObject({ status: 0, stdout: expect.stringContaining(`sojourn ${version} `) })
    expect(run(program, 'help').stdout).toContain('forecast')
  })

  it('prints the CRDs', () => {
    const { status, stdout } = run(program, 'install', '--crds-only')
    expect(status).toBe(0)
    expect(stdout.match(/^kind: CustomResourceDefinition$/gm)?.length).toBeGreaterThan(13)
  })

  it('runs the first example, a forecast in its thread and the dashboard, and stops with 0', async () => {
    const up = await Started.up(program)
    console.log(`ready after ${up.readyAfterMs.toFixed(0)} ms`)
    for (const manifest of exampleManifests()) await create(up, manifest)
    const forecast = await up.call('/sojourn/v1alpha1/forecast', { method: 'POST', body: { for: '1d' } })
    expect(forecast).toMatchObject({ status: 200, text: expect.stringContaining('preview-settings') })
    expect(await up.call('/', { accept: 'text/html' })).toMatchObject({
      status: 200,
      text: expect.stringContaining('<!doctype html>'),
    })
    expect((await up.call('/ui/main.js')).status).toBe(200)
    const status = run(program, 'status', '-A', '-o', 'yaml', '--kubeconfig', up.kubeconfig)
    expect(status).toMatchObject({ status: 0, stdout: expect.stringContaining('preview') })
    const second = run(program, 'up', '--data', up.data, '--port', '0', '--proxy-port', '0')
    expect(second).toMatchObject({ status: 2, stderr: expect.stringContaining('in use by another sojourn (pid') })
    expect(await up.stop()).toBe(0)
  })
})

// The demo waits for a minute rather than computes.
describe.concurrent.each(Object.entries(programs))('the %s', (_, program) => {
  it('plays the whole demo', async ({ expect }) => {
    const up = await Started.up(program)
    const { stdout, stderr } = await runBeside(program, 'demo', '--kubeconfig', up.kubeconfig)
    expect(stderr).toBe('')
    expect(stdout).toContain('Hello from the shop')
    expect(await up.stop()).toBe(0)
  })
})

function exampleManifests(): readonly { kind: string; apiVersion: string; metadata: { namespace?: string } }[] {
  const example = join(root, 'examples/01-expiring-configmap')
  const files = readdirSync(example).filter((file) => file.endsWith('.yaml'))
  return files.toSorted().flatMap((file) =>
    readFileSync(join(example, file), 'utf8')
      .split(/^---$/m)
      .flatMap((text) => {
        const manifest = parse(text) as ReturnType<typeof exampleManifests>[number] | null
        return manifest ? [manifest] : []
      }),
  )
}

async function create(up: Started, manifest: ReturnType<typeof exampleManifests>[number]): Promise<void> {
  const { apiVersion, kind, metadata } = manifest
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const place = metadata.namespace ? `/namespaces/${metadata.namespace}` : ''
  const { status, text } = await up.call(`${group}${place}/${kind.toLowerCase()}s`, { method: 'POST', body: manifest })
  expect(status, text).toBe(201)
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => statSync(join(folder, file)))
  return files.reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)
}

function chmodAll(folder: string, mode: number): void {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true }))
    if (file.isDirectory()) chmodSync(join(file.parentPath, file.name), mode)
  chmodSync(dirname(join(folder, 'x')), mode)
}
