import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../client/cluster-config.ts'

/** The folder of one `sojourn up`, held by one process at a time. */
export interface DataDirectory {
  readonly path: string
  file(name: string): string
  release(): void
}

/** Takes the folder, making it if need be; throws ConfigError when a living process has it. */
export function holdDataDirectory(path: string): DataDirectory {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ConfigError(`cannot use ${path} for data: ${(error as Error).message}`, { cause: error })
  }
  const lock = join(path, 'pid')
  takeLock(lock, path)
  return { path, file: (name) => join(path, name), release: () => rmSync(lock, { force: true }) }
}

function takeLock(lock: string, path: string): void {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return writeFileSync(lock, `${process.pid}\n`, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new ConfigError(`cannot write to ${path}: ${(error as Error).message}`, { cause: error })
      const holder = Number(readFileSync(lock, 'utf8'))
      if (isAlive(holder))
        throw new ConfigError(
          `${path} is in use by another sojourn (pid ${holder}): stop that one, or choose another folder with --data`,
        )
      // Its holder was killed and could not tidy up.
      rmSync(lock, { force: true })
    }
  }
  throw new ConfigError(`${path} is being taken by another sojourn: choose another folder with --data`)
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    // After a restart of the machine the number may belong to somebody else.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
