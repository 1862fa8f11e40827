import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** Debian's packages that the distroless image with glibc and without OpenSSL is made of. */
const distroless = ['base-files', 'ca-certificates', 'libc6', 'netbase', 'tzdata']
/** What the first stage needs besides, to build in a shell. */
const shell =
  'gcc-12-base libgcc-s1 libssl3 libstdc++6 dash libatomic1 coreutils libselinux1 libpcre2-8-0 libacl1 libattr1 libgmp10 binutils binutils-common binutils-x86-64-linux-gnu libbinutils libctf0 libctf-nobfd0 libjansson4 zlib1g libzstd1'.split(
    ' ',
  )

/** Why the image cannot be built here, if it cannot. */
export function whyNoImage(): string | undefined {
  if (process.getuid?.() !== 0) return 'building without a container runtime needs root'
  for (const program of ['buildah', 'dpkg-deb', 'apt-get', 'unshare'])
    if (!existsSync(`/usr/bin/${program}`)) return `there is no ${program} here: apt-get install -y buildah`
  return undefined
}

/** What a container runtime is told about the image. */
export interface ImageConfig {
  readonly User: string
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
}

export interface BuiltImage {
  /** The folder of its files. */
  readonly files: string
  readonly config: ImageConfig
}

/** Builds deploy/Dockerfile as it is. Its two bases, which no package registry has, are made of the same Debian packages and the same Node. */
export async function buildImage(directory: string): Promise<BuiltImage> {
  const buildah = (...args: readonly string[]) =>
    execute('buildah', ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run'), ...args], {
      env: { PATH: process.env['PATH'] ?? '', HOME: homedir(), BUILDAH_ISOLATION: 'chroot' },
      maxBuffer: 64 * 1024 * 1024,
    })
  const image = async (name: string, folder: string) => {
    const { stdout } = await buildah('from', 'scratch')
    const container = stdout.trim()
    await buildah('copy', container, folder, '/')
    await buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', container)
    await buildah('commit', '--rm', container, name)
  }
  await image('localhost/base', await unpack(join(directory, 'base'), distroless))
  const builder = await unpack(join(directory, 'builder'), [...distroless, ...shell])
  addNode(builder)
  await image('localhost/builder', builder)
  await buildah(
    'build',
    ...trustOfThisMachine(directory).flatMap((volume) => ['--volume', volume]),
    ...bases().flatMap((base, index) => [
      '--build-context',
      `${base}=container-image://localhost/${index === 0 ? 'builder' : 'base'}`,
    ]),
    '--file',
    dockerfile,
    '--tag',
    'localhost/sojourn',
    root,
  )
  const { stdout } = await buildah('from', 'localhost/sojourn')
  const files = (await buildah('mount', stdout.trim())).stdout.trim()
  const inspected = JSON.parse((await buildah('inspect', '--type', 'image', 'localhost/sojourn')).stdout) as {
    readonly OCIv1: { readonly config: ImageConfig }
  }
  return { files, config: inspected.OCIv1.config }
}

const dockerfile = join(root, 'deploy/Dockerfile')

/** The images that the Dockerfile begins its stages with. */
export function bases(): readonly string[] {
  return [...readFileSync(dockerfile, 'utf8').matchAll(/^FROM (\S+)/gm)].map(([, base = '']) => base)
}

/** How npm reaches its registry here: this machine's settings, and whom it trusts. */
function trustOfThisMachine(directory: string): readonly string[] {
  const read = (path: string | undefined) => (path && existsSync(path) ? readFileSync(path, 'utf8') : '')
  const settings = join(directory, 'npmrc')
  const authorities = join(directory, 'authorities.pem')
  writeFileSync(settings, `${read(join(homedir(), '.npmrc'))}\ncafile=/root/authorities.pem\n`)
  writeFileSync(authorities, read('/etc/ssl/certs/ca-certificates.crt') + read(process.env['NODE_EXTRA_CA_CERTS']))
  return [`${settings}:/root/.npmrc:ro`, `${authorities}:/root/authorities.pem:ro`]
}

/** Files of Debian packages, in a folder of their own. */
async function unpack(folder: string, packages: readonly string[]): Promise<string> {
  const downloads = `${folder}.deb`
  mkdirSync(downloads, { recursive: true })
  for (const link of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(folder, 'usr', link), { recursive: true })
    symlinkSync(`usr/${link}`, join(folder, link))
  }
  mkdirSync(join(folder, 'tmp'), { mode: 0o1777 })
  await execute('apt-get', ['download', ...packages], { cwd: downloads })
  for (const file of readdirSync(downloads)) {
    const { stdout } = await execute('sh', [
      '-c',
      `dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink`,
      'sh',
      join(downloads, file),
      folder,
    ])
    if (stdout) throw new Error(stdout)
  }
  writeFileSync(
    join(folder, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/home/nonroot:/bin/false\n',
  )
  if (existsSync('/etc/ssl/certs'))
    cpSync('/etc/ssl/certs', join(folder, 'etc/ssl/certs'), { recursive: true, dereference: true })
  cpSync('/etc/resolv.conf', join(folder, 'etc/resolv.conf'), { dereference: true })
  return folder
}

/** The Node that runs this, and the npm that came with the machine, where the official image has them. */
function addNode(folder: string): void {
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true })
  mkdirSync(join(folder, 'usr/local/lib/node_modules'), { recursive: true })
  mkdirSync(join(folder, 'root'), { recursive: true })
  cpSync(process.execPath, join(folder, 'usr/local/bin/node'))
  const npm = ['/usr/bin/npm', '/usr/local/bin/npm'].find(existsSync)
  if (!npm) throw new Error('there is no npm here')
  cpSync(dirname(dirname(realpathSync(npm))), join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'))
}
