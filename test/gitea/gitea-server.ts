import { execFile } from 'node:child_process'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { giteaApi, type Api } from 'gitea-js'
import { Daemon } from '../../scripts/reference-cluster/daemon.ts'
import { answersOk, freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { makeCertificates } from '../forge/certificates.ts'
import { giteaDirectory, giteaProgram } from './gitea-build.ts'

const run = promisify(execFile)

/** A Gitea account: the robot promotes, the human decides. */
export interface Account {
  readonly name: string
  readonly password: string
  readonly token: string
  readonly api: Api<unknown>
}

/** A real Gitea on loopback, over HTTPS, with its data in a folder that goes with it. */
export class GiteaServer {
  readonly url: string
  readonly sshPort: number
  readonly ca: string
  readonly #directory: string
  readonly #daemon: Daemon
  robot!: Account
  human!: Account

  private constructor(directory: string, given: { url: string; sshPort: number; ca: string; daemon: Daemon }) {
    this.#directory = directory
    this.url = given.url
    this.sshPort = given.sshPort
    this.ca = given.ca
    this.#daemon = given.daemon
  }

  static async start(): Promise<GiteaServer> {
    const directory = mkdtempSync(join(tmpdir(), 'sojourn-gitea-'))
    const [port = 0, sshPort = 0] = await freePorts(2)
    const { ca, cert, key } = makeCertificates()
    const file = (name: string, content: string) => {
      writeFileSync(join(directory, name), content, { mode: 0o600 })
      return join(directory, name)
    }
    mkdirSync(join(directory, 'data'))
    const config = file(
      'app.ini',
      settings(directory, { port, sshPort, cert: file('cert', cert), key: file('key', key) }),
    )
    await run(giteaProgram, ['migrate', '--config', config, '--work-path', directory])
    const daemon = new Daemon(
      giteaProgram,
      ['web', '--config', config, '--work-path', directory],
      join(directory, 'log'),
    )
    const url = `https://127.0.0.1:${port}`
    const server = new GiteaServer(directory, { url, sshPort, ca, daemon })
    await daemon.ready(() => answersOk(`${url}/api/v1/version`))
    server.robot = await server.#account('robot')
    server.human = await server.#account('human')
    return server
  }

  /** A repository of the human's in which the robot may write. */
  async repository(name: string, files: Record<string, string>): Promise<void> {
    const { api, name: owner } = this.human
    await api.user.createCurrentUserRepo({ name, auto_init: true, default_branch: 'main' })
    await api.repos.repoAddCollaborator(owner, name, this.robot.name, { permission: 'write' })
    for (const [path, content] of Object.entries(files))
      await api.repos.repoCreateFile(owner, name, path, { content: base64(content), message: 'set up' })
  }

  /** What a file holds on a branch. */
  async file(name: string, path: string, branch = 'main'): Promise<string> {
    const { data } = await this.human.api.repos.repoGetContents(this.human.name, name, path, { ref: branch })
    return Buffer.from(data.content ?? '', 'base64').toString()
  }

  async branches(name: string): Promise<string[]> {
    const { data } = await this.human.api.repos.repoListBranches(this.human.name, name)
    return data.map((branch) => branch.name ?? '').toSorted()
  }

  /** All pull requests, the oldest first. */
  async pulls(name: string) {
    const { data } = await this.human.api.repos.repoListPullRequests(this.human.name, name, { state: 'all' })
    return data.toSorted((left, right) => (left.number ?? 0) - (right.number ?? 0))
  }

  /** What `known_hosts` has to say of its SSH server. */
  async knownHosts(): Promise<string> {
    const { stdout } = await run('ssh-keyscan', ['-p', String(this.sshPort), '127.0.0.1'])
    return stdout
  }

  async stop(): Promise<void> {
    await this.#daemon.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #account(name: string): Promise<Account> {
    const password = `${name}-password-1`
    const gitea = (...args: string[]) =>
      run(giteaProgram, ['admin', 'user', ...args, '--config', join(this.#directory, 'app.ini')])
    const identity = ['--username', name, '--password', password, '--email', `${name}@example.org`]
    await gitea('create', ...identity, '--must-change-password=false')
    const { stdout } = await gitea(
      'generate-access-token',
      '--raw',
      `--username=${name}`,
      '--token-name=test',
      '--scopes=all',
    )
    // Warnings go to the same place; the token is what comes last.
    const token = stdout.trim().split('\n').at(-1) ?? ''
    return { name, password, token, api: giteaApi(this.url, { token }) }
  }
}

function settings(
  directory: string,
  { port, sshPort, cert, key }: { port: number; sshPort: number; cert: string; key: string },
): string {
  const { uid, username } = userInfo()
  return `
RUN_USER = ${username}
RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = ${uid === 0}
[server]
PROTOCOL = https
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = https://127.0.0.1:${port}/
CERT_FILE = ${cert}
KEY_FILE = ${key}
STATIC_ROOT_PATH = ${giteaDirectory}
APP_DATA_PATH = ${join(directory, 'data')}
START_SSH_SERVER = true
BUILTIN_SSH_SERVER_USER = git
SSH_LISTEN_HOST = 127.0.0.1
SSH_LISTEN_PORT = ${sshPort}
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${join(directory, 'data', 'gitea.db')}
[repository]
ROOT = ${join(directory, 'repositories')}
[indexer]
ISSUE_INDEXER_TYPE = db
[security]
INSTALL_LOCK = true
SECRET_KEY = for-tests-only
[log]
LEVEL = Warn
[cron]
ENABLED = false
[actions]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
`
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
