import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { seededRandom } from '../../src/runtime/time/random.ts'

const speed = 10
const maxSteps = 12
/** Enough for deaths at every kind of step; on a slow machine most of a life is its start. */
const maxKills = 16

/** Promoters in processes of their own, one after the other: each ends as `kill -9` does at a random one of its steps. */
export class MortalPromoter {
  kills = 0
  /** A promoter has ended without being killed. */
  crashed = false
  readonly #kubeconfig: string
  readonly #epoch = Date.now()
  readonly #random = seededRandom(21)
  #child: ChildProcess | undefined
  #isOver = false

  constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig
    this.#live()
  }

  end(): void {
    this.#isOver = true
    this.#child?.kill('SIGKILL')
  }

  #live(): void {
    const steps = 1 + Math.floor(this.#random() * maxSteps)
    const when = this.#random() < 0.5 ? 'before' : 'after'
    const last = this.kills < maxKills ? steps : Infinity
    const args = [this.#kubeconfig, this.#epoch, speed, last, when].map(String)
    this.#child = fork(join(import.meta.dirname, '../promoter/promoter-process.ts'), args, {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('exit', (_, signal) => {
      if (this.#isOver) return
      if (signal !== 'SIGKILL') return void (this.crashed = true)
      this.kills++
      this.#live()
    })
  }
}
