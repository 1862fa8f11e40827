/** Limits the requests of each user that are answered at once, and with them the memory that they take; the others wait their turn. */
export class RequestLimit {
  readonly #perUser: number
  /** By user: how many are being answered, and who waits. Absent when neither. */
  readonly #users = new Map<string, { active: number; readonly waiting: (() => void)[] }>()

  constructor(perUser: number) {
    this.#perUser = perUser
  }

  /** Resolves to what ends the turn when the turn has come. */
  async take(name: string): Promise<() => void> {
    const user = this.#users.getOrInsertComputed(name, () => ({ active: 0, waiting: [] }))
    if (user.active < this.#perUser) user.active++
    else await new Promise<void>((resolve) => user.waiting.push(resolve))
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const next = user.waiting.shift()
      if (next) return next()
      user.active--
      if (user.active === 0) this.#users.delete(name)
    }
  }
}
