import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import { giteaProgram } from '../gitea/gitea-build.ts'
import { GiteaServer } from '../gitea/gitea-server.ts'

const run = promisify(execFile)

export interface Pull {
  readonly number: number
  readonly state: 'open' | 'closed' | 'merged'
  readonly head: string
  readonly body: string
}

/** A forge with one repository that Flux reads, promotions are written to, and a person commits to. */
export interface FluxForge {
  readonly url: string
  /** The Secret for Flux and the promoter. */
  readonly access: Readonly<Record<string, string>>
  /** Commits files on top of main; returns the new tip. */
  readonly commit: (files: Readonly<Record<string, string>>) => Promise<string>
  readonly tip: () => Promise<string>
  /** How many commits on main have this line. */
  readonly count: (line: string) => Promise<number>
  /** All pull requests, the oldest first. */
  readonly pulls: () => Promise<readonly Pull[]>
  readonly merge: (number: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** A real Gitea where one has been built (`npm run test:gitea` does), else the forge of the tests, on real git. */
export function startFluxForge(): Promise<FluxForge> {
  return existsSync(giteaProgram) ? startGitea() : startTestForge()
}

async function startTestForge(): Promise<FluxForge> {
  const forge = await ForgeServer.start()
  const repository = await forge.createRepository('deploy')
  const { pulls } = forge
  return {
    url: `${forge.url('gitea', 'deploy')}.git`,
    access: accessTo(forge.ca, { username: forgeUser, password: forgePassword, token: forgeToken }),
    commit: (files) => repository.commit('main', files),
    tip: async () => (await repository.tip('main')) ?? '',
    count: async (line) => linesOf(await repository.git('log', 'main', '--format=%H', `--grep=${line}`)),
    pulls: () => Promise.resolve(pulls.all),
    merge: async (number) => void (await pulls.merge(pulls.all.find((pull) => pull.number === number)!)),
    close: () => forge.close(),
  }
}

async function startGitea(): Promise<FluxForge> {
  const gitea = await GiteaServer.start()
  const trusted = getCACertificates()
  setDefaultCACertificates([...trusted, gitea.ca])
  await gitea.repository('deploy', {})
  const { human, robot } = gitea
  const { repos } = human.api
  const url = `${gitea.url}/${human.name}/deploy.git`
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-flux-clone-'))
  const [ca, clone] = [join(directory, 'ca'), join(directory, 'clone')]
  writeFileSync(ca, gitea.ca)
  const git = async (...args: string[]) => {
    const identity = ['-c', `user.name=${human.name}`, '-c', 'user.email=human@example.org']
    // The variable wins over the setting, if the machine has one.
    const { stdout } = await run('git', [...identity, ...args], { env: { ...process.env, GIT_SSL_CAINFO: ca } })
    return stdout.trim()
  }
  await git('clone', '--quiet', url.replace('https://', `https://${human.name}:${human.password}@`), clone)
  const here = (...args: string[]) => git('-C', clone, ...args)
  const refresh = () => here('fetch', '--quiet', 'origin', 'main')
  return {
    url,
    access: accessTo(gitea.ca, { username: robot.name, password: robot.password, token: robot.token }),
    async commit(files) {
      await refresh()
      await here('reset', '--quiet', '--hard', 'origin/main')
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(join(clone, dirname(path)), { recursive: true })
        writeFileSync(join(clone, path), content)
      }
      await here('add', '--all')
      await here('commit', '--quiet', '--message', 'change')
      await here('push', '--quiet', 'origin', 'HEAD:main')
      return here('rev-parse', 'HEAD')
    },
    async tip() {
      await refresh()
      return here('rev-parse', 'origin/main')
    },
    async count(line) {
      await refresh()
      return linesOf(await here('log', 'origin/main', '--format=%H', `--grep=${line}`))
    },
    pulls: async () =>
      (await gitea.pulls('deploy')).map(({ number = 0, state, merged, head, body = '' }) => ({
        number,
        state: merged ? 'merged' : (state as 'open' | 'closed'),
        head: head?.ref ?? '',
        body,
      })),
    async merge(number) {
      // Gitea answers 405 for as long as it has not found out whether a pull request can be merged.
      for (;;) {
        const refusal = await repos.repoMergePullRequest(human.name, 'deploy', number, { Do: 'merge' }).then(
          () => undefined,
          (error: unknown) => error as { status?: number },
        )
        if (!refusal) return
        if (refusal.status !== 405) throw new Error(`Gitea did not merge ${number}: ${JSON.stringify(refusal)}`)
        await sleep(500)
      }
    },
    async close() {
      await gitea.stop()
      setDefaultCACertificates(trusted)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function accessTo(ca: string, account: { username: string; password: string; token: string }): Record<string, string> {
  return { ...account, 'ca.crt': ca, caFile: ca }
}

function linesOf(text: string): number {
  return text === '' ? 0 : text.split('\n').length
}
