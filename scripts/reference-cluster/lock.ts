import { readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs `work` while no other process on this machine holds `path`. A lock whose holder died is taken over; should two
 * waiters do so at the same instant, both run, so `work` must be safe to do twice.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  if (!take(path)) {
    console.error(`waiting for another process to remove ${path}`)
    while (!take(path)) await sleep(200)
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

/** A symbolic link to the holder's pid: unlike a file, it never exists without its content. */
function take(path: string): boolean {
  try {
    symlinkSync(String(process.pid), path)
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  if (!isHeld(path)) rmSync(path, { force: true })
  return false
}

function isHeld(path: string): boolean {
  try {
    process.kill(Number(readlinkSync(path)), 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
