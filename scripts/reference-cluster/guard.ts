import { spawn, type ChildProcess } from 'node:child_process'

const script = 'while read -r pid; do pids="$pids $pid"; done; kill -9 $pids; sleep 1; rm -rf "$1"'

/**
 * Kills the processes told to it and removes the directory when this process ends without having called `dismiss()`. It
 * is a process that waits for our end of a pipe to close, which happens however we end: SIGKILL runs no handler of ours.
 */
export class Guard {
  readonly #child: ChildProcess

  constructor(directory: string) {
    // Detached, or ctrl-C in a terminal would end it with us.
    this.#child = spawn('/bin/sh', ['-c', script, 'sh', directory], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#child.unref()
    unref(this.#child.stdin)
  }

  watch(pid: number): void {
    this.#child.stdin?.write(`${pid}\n`)
  }

  dismiss(): void {
    this.#child.kill()
  }
}

/** A pipe must not keep us running. Node's types hide that it is a socket. */
function unref(stream: unknown): void {
  ;(stream as { unref(): void }).unref()
}
