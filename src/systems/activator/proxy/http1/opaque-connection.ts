import type { Socket } from 'node:net'
import { adoptSocket, readBuffer, type SocketOwner } from '../wire/adopt-socket.ts'
import type { ProxyThread, Sweepable } from '../routing/proxy-thread.ts'
import { cell } from '../routing/counters.ts'
import { QueueEntry } from '../routing/queue-entry.ts'
import type { Waiter } from '../routing/ports.ts'
import type { Route } from '../routing/route.ts'
import { ownBytes } from '../wire/socket-writes.ts'
import type { UpstreamFailure, UpstreamUser, UpstreamConnection } from '../routing/upstream-connection.ts'

/** How long a connection may be silent before it counts as use: longer than the TCP checks of load balancers. */
const knockMs = 500

/**
 * One client's connection whose bytes are passed on as they are. While it is open its workload is in use. It waits like a
 * request while the workload wakes, once it has said something, or has been silent for so long that the pod must speak first.
 */
export class OpaqueConnection implements SocketOwner, Waiter, Sweepable {
  readonly #thread: ProxyThread
  readonly #socket: Socket
  readonly route: Route
  readonly #acceptedAt: number
  readonly #pod: UpstreamUser = {
    connected: () => this.#open(),
    tunnelled: (payload) => this.#answer(payload),
    tunnelEnded: () => this.#podEnded(),
    drained: () => this.#socket.resume(),
    broke: (because) => this.#broke(because),
  }
  #upstream: UpstreamConnection | undefined
  #entry: QueueEntry | undefined
  #held: (string | Buffer)[] = []
  #heldBytes = 0
  #isCounted = false
  #clientEnded = false
  #hasPodEnded = false
  #silentUntil = Infinity

  constructor(accepted: Socket, thread: ProxyThread, route: Route) {
    this.#thread = thread
    this.route = route
    this.#acceptedAt = thread.time.now
    this.#socket = adoptSocket(accepted, this)
    if (route.target.isReachable) this.#begin()
  }

  read(length: number): void {
    this.#count()
    this.#touch()
    const bytes = ownBytes(readBuffer, 0, length)
    if (this.#upstream?.open) {
      if (!this.#upstream.send(bytes)) this.#socket.pause()
      return
    }
    this.#held.push(bytes)
    this.#heldBytes += length
    this.#entry?.grow(length)
    if (this.#heldBytes >= this.#thread.limits.holdBytes) this.#socket.pause()
    if (!this.#upstream && !this.#entry?.target) this.#begin()
  }

  /** The client has closed its side. Without a byte sent before, the connection needs no pod. */
  ended(): void {
    this.#clientEnded = true
    if (this.#upstream?.open) this.#upstream.socket.end()
    else if (this.#heldBytes === 0) this.#socket.destroy()
  }

  closed(): void {
    this.#thread.clients.delete(this)
    this.#entry?.leave()
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#held = []
    if (!this.#isCounted) return
    this.#isCounted = false
    this.route.cells[cell.finished]!++
  }

  connected(): void {}

  drained(): void {
    this.#upstream?.socket.resume()
  }

  resume(): void {
    const upstream = this.#entry?.target?.take(false)
    if (!upstream) return
    this.#entry?.leave()
    this.#use(upstream)
  }

  /** Closes without a response: the protocol is unknown. */
  refuse(): void {
    this.route.cells[cell.refused]!++
    this.#entry?.leave()
    this.#socket.resetAndDestroy()
  }

  checkWait(now: number): void {
    if (this.#entry && now >= this.#entry.deadlineAt) this.refuse()
  }

  sweep(now: number): void {
    if (now >= this.#silentUntil) {
      this.#socket.resetAndDestroy()
      return
    }
    if (this.#isCounted || now - this.#acceptedAt < knockMs) return
    this.#count()
    if (!this.#upstream) this.#begin()
  }

  /** The protocol is unknown, so the client cannot be asked to close. A connection that never carried bytes is closed. */
  retire(): void {
    if (!this.#isCounted) this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #count(): void {
    if (this.#isCounted) return
    this.#isCounted = true
    this.route.cells[cell.started]!++
  }

  #begin(): void {
    const { target } = this.route
    const upstream = target.waiters.size === 0 ? target.take(false) : undefined
    if (upstream) this.#use(upstream)
    else this.#wait()
  }

  #use(upstream: UpstreamConnection): void {
    this.#upstream = upstream
    upstream.carry(this.#pod)
    if (upstream.open) this.#open()
  }

  #wait(): void {
    const { target, removed } = this.route
    if (removed || target.state.is === 'refusing') return this.refuse()
    // A connection that waits counts as use, even before its first byte.
    this.#count()
    this.#entry ??= new QueueEntry(this.#thread, this)
    if (!this.#entry.take(this.#heldBytes)) this.refuse()
  }

  #open(): void {
    const upstream = this.#upstream!
    upstream.beginTunnel()
    this.route.cells[cell.tunnels]!++
    if (this.#entry?.cold) this.#entry.noteColdStart()
    for (const piece of this.#held.splice(0)) upstream.send(piece)
    this.#heldBytes = 0
    if (this.#clientEnded) upstream.socket.end()
    this.#touch()
    this.#socket.resume()
  }

  #answer(payload: string | Buffer): void {
    this.#count()
    this.#touch()
    if (!this.#socket.write(payload as string, 'latin1')) this.#upstream?.socket.pause()
  }

  #podEnded(): void {
    this.#hasPodEnded = true
    this.#touch()
    this.#socket.end()
  }

  #broke(because: UpstreamFailure): void {
    this.#upstream = undefined
    if (because === 'dial-failed') this.#wait()
    else this.#socket.resetAndDestroy()
  }

  #touch(): void {
    const { tunnelIdleMs: idleMs } = this.route.config
    const { halfOpenMs } = this.#thread.limits
    // A client that stays after the pod has closed may have vanished: it is closed after a timeout.
    const silenceMs = this.#hasPodEnded ? Math.min(idleMs || halfOpenMs, halfOpenMs) : idleMs
    if (silenceMs > 0) this.#silentUntil = this.#thread.time.now + silenceMs
  }
}
