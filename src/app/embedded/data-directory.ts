import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../client/cluster-config.ts'

/** Creates the data directory of one `sojourn up` and locks it; throws ConfigError when a running process has it. */
export function lockDataDirectory(path: string) {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ConfigError(`${(error as Error).message}: choose another directory with --data`, { cause: error })
  }
  const lock = join(path, 'pid')
  takeLock(lock, path)
  return { file: (name: string) => join(path, name), release: () => rmSync(lock, { force: true }) }
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
          `${path} is in use by another sojourn (pid ${holder}): stop that process, or choose another directory with --data`,
        )
      // The process that wrote it was killed.
      rmSync(lock, { force: true })
    }
  }
  throw new ConfigError(`${path} is being locked by another sojourn: choose another directory with --data`)
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    // After a reboot the pid may belong to another program. Ours is started as src/cli/main.ts, as the package's or as an executable.
    return !existsSync('/proc/self') || /main\.ts|cli\.js|sojourn/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
