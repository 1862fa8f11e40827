import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Repository } from './repository.ts'

const run = promisify(execFile)
const program = '/usr/sbin/sshd'

/** Why there can be no SSH server here; undefined when there can. */
export const missingSshd = existsSync(program) ? undefined : `there is no ${program} (Debian: openssh-server)`
if (missingSshd) console.warn(`\n*** Tests that need a real SSH server are SKIPPED: ${missingSshd}\n`)

export interface KeyPair {
  /** As ssh-keygen writes it. */
  readonly identity: string
  readonly open: string
  readonly path: string
}

/** OpenSSH's own server on loopback, in front of real repositories, as a forge would run it. */
export class SshServer {
  readonly #folder: string
  readonly port: number
  readonly user = userInfo().username
  #process: ChildProcess | undefined
  /** What was run for clients, in order. */
  readonly #log: string
  #host: KeyPair | undefined

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.port = port
    this.#log = join(folder, 'commands')
  }

  static async start(given: { version2?: boolean; hostKey?: string } = {}): Promise<SshServer> {
    const server = new SshServer(await mkdtemp(join(tmpdir(), 'sojourn-sshd-')), await freePort())
    server.#host = await server.keyPair('host', { type: given.hostKey ?? 'ed25519' })
    await writeFile(server.#log, '')
    await writeFile(join(server.#folder, 'serve'), serveScript(server.#folder), { mode: 0o755 })
    await writeFile(join(server.#folder, 'authorized_keys'), '')
    await writeFile(join(server.#folder, 'config'), server.#config(given.version2 ?? true))
    await server.up()
    return server
  }

  async up(): Promise<void> {
    // The server wants this place when it is run by root.
    if (this.user === 'root') await mkdir('/run/sshd', { recursive: true })
    const started = spawn(program, ['-D', '-e', '-f', join(this.#folder, 'config')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = started
    let said = ''
    await new Promise<void>((resolve, reject) => {
      started.on('exit', () => reject(new Error(`sshd ended: ${said}`)))
      started.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (said.includes('Server listening on 127.0.0.1')) resolve()
      })
    })
  }

  /** Ends the server and every connection it has. */
  async down(): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (!running || running.exitCode !== null) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.kill('SIGKILL')
    await gone
  }

  async close(): Promise<void> {
    await this.down()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async repository(name: string): Promise<Repository> {
    return Repository.create(this.#folder, name)
  }

  /** Serves a repository that is somewhere else too. */
  async serve(repository: Repository): Promise<void> {
    await writeFile(join(this.#folder, 'root'), dirname(repository.path))
  }

  url(name: string): string {
    return `ssh://${this.user}@127.0.0.1:${this.port}/acme/${name}.git`
  }

  get knownHosts(): string {
    return `[127.0.0.1]:${this.port} ${this.#host!.open}`
  }

  /** The same, with the names as `HashKnownHosts` leaves them. */
  async hashedKnownHosts(): Promise<string> {
    const path = join(this.#folder, 'hashed')
    await writeFile(path, this.knownHosts)
    await run('ssh-keygen', ['-H', '-f', path])
    return readFile(path, 'utf8')
  }

  /** A new key; may log in unless it is said otherwise. */
  async keyPair(name: string, given: { type?: string; password?: string; format?: string } = {}): Promise<KeyPair> {
    const path = join(this.#folder, name)
    const { type = 'ed25519', password = '', format } = given
    const size = type === 'rsa' ? ['-b', '2048'] : []
    const how = format ? ['-m', format] : []
    await run('ssh-keygen', ['-q', '-t', type, ...size, ...how, '-N', password, '-C', name, '-f', path])
    return { path, identity: await readFile(path, 'utf8'), open: await readFile(`${path}.pub`, 'utf8') }
  }

  /** Lets a key in, to write as well or only to read. */
  async allow({ open }: Pick<KeyPair, 'open'>, mode: 'write' | 'read' = 'write'): Promise<void> {
    const path = join(this.#folder, 'authorized_keys')
    const line = `command="${join(this.#folder, 'serve')} ${mode}",restrict ${open.trim()}\n`
    await writeFile(path, `${await readFile(path, 'utf8')}${line}`)
  }

  /** What clients have asked for, as they asked for it. */
  async commands(): Promise<string[]> {
    return (await readFile(this.#log, 'utf8')).split('\n').filter((line) => line !== '')
  }

  /** Connections that clients have open. */
  async connections(): Promise<number> {
    const sockets = await readFile('/proc/net/tcp', 'utf8')
    const port = this.port.toString(16).toUpperCase().padStart(4, '0')
    return sockets.split('\n').filter((line) => new RegExp(`^ *\\d+: \\S+:${port} \\S+ 01 `).test(line)).length
  }

  #config(version2: boolean): string {
    return [
      `ListenAddress 127.0.0.1:${this.port}`,
      `HostKey ${join(this.#folder, 'host')}`,
      `AuthorizedKeysFile ${join(this.#folder, 'authorized_keys')}`,
      ...(version2 ? ['AcceptEnv GIT_PROTOCOL'] : []),
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
    ].join('\n')
  }
}

/** What a forge does with a client's command: finds the repository by the last part of its path, and refuses in words. One says nothing at all. */
function serveScript(folder: string): string {
  return `#!/bin/sh
echo "$SSH_ORIGINAL_COMMAND" >> '${folder}/commands'
eval "set -- $1 $SSH_ORIGINAL_COMMAND"
root=$(cat '${folder}/root' 2>/dev/null || echo '${folder}')
case "$3" in */silent.git) exec sleep 60 ;; esac
case "$1 $2" in
  'read git-receive-pack') echo 'ERROR: The key you are authenticating with has been marked as read only.' >&2; exit 1 ;;
  *' git-upload-pack'|*' git-receive-pack') ;;
  *) echo 'ERROR: command not allowed' >&2; exit 1 ;;
esac
repository="$root/$(basename "$3")"
test -d "$repository" || { echo 'ERROR: Repository not found.' >&2; exit 1; }
exec "$2" "$repository"
`
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
