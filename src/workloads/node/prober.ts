import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { connect } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { Probe } from '../types.ts'

export interface ProbeTarget {
  readonly host: string
  /** The real port of a container port, by number or name. */
  portOf(port: number | string): number | undefined
  readonly env: Readonly<Record<string, string>>
}

/** Asks a container again and again how it is, and tells when enough answers in a row say otherwise than before. */
export class Prober {
  readonly #probe: Probe
  readonly #target: ProbeTarget
  readonly #clock: Clock
  readonly #onChange: (isFine: boolean) => void
  #cancel: () => void
  #isFine: boolean
  /** Answers in a row that differ from what was last told. */
  #streak = 0
  #isStopped = false

  constructor(
    probe: Probe,
    options: { target: ProbeTarget; clock: Clock; initially: boolean; onChange: (isFine: boolean) => void },
  ) {
    this.#probe = probe
    this.#target = options.target
    this.#clock = options.clock
    this.#onChange = options.onChange
    this.#isFine = options.initially
    this.#cancel = this.#clock.after((probe.initialDelaySeconds ?? 0) * 1000, () => void this.#ask())
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  async #ask(): Promise<void> {
    const isFine = await ask(this.#probe, this.#target).catch(() => false)
    if (this.#isStopped) return
    this.#note(isFine)
    // Until it first serves, a second is long: somebody may be waiting for it.
    const periodMs = Math.max(0.1, this.#probe.periodSeconds ?? 10) * 1000
    this.#cancel = this.#clock.after(this.#isFine ? periodMs : Math.min(periodMs, 250), () => void this.#ask())
  }

  #note(isFine: boolean): void {
    if (isFine === this.#isFine) {
      this.#streak = 0
      return
    }
    this.#streak++
    const needed = isFine ? (this.#probe.successThreshold ?? 1) : (this.#probe.failureThreshold ?? 3)
    if (this.#streak < needed) return
    this.#isFine = isFine
    this.#streak = 0
    this.#onChange(isFine)
  }
}

function ask({ httpGet, tcpSocket, exec, timeoutSeconds = 1 }: Probe, target: ProbeTarget): Promise<boolean> {
  const timeoutMs = timeoutSeconds * 1000
  if (httpGet) return askHttp(httpGet, target, timeoutMs)
  if (tcpSocket) return askTcp(target.portOf(tcpSocket.port), target.host, timeoutMs)
  return exec?.command ? askProgram(exec.command, target.env, timeoutMs) : Promise.resolve(true)
}

function askHttp(
  { path = '/', port, httpHeaders = [] }: NonNullable<Probe['httpGet']>,
  target: ProbeTarget,
  timeoutMs: number,
): Promise<boolean> {
  const { host } = target
  const realPort = target.portOf(port)
  if (realPort === undefined) return Promise.resolve(false)
  return new Promise((resolve) => {
    const headers = Object.fromEntries([
      ['user-agent', 'kube-probe/1.36'],
      ...httpHeaders.map(({ name, value }) => [name, value]),
    ]) as Record<string, string>
    const outgoing = request({ host, port: realPort, path, headers, timeout: timeoutMs, agent: false }, (response) => {
      const status = response.statusCode ?? 0
      response.destroy()
      resolve(status >= 200 && status < 400)
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('timeout')))
    outgoing.on('error', () => resolve(false))
    outgoing.end()
  })
}

function askTcp(port: number | undefined, host: string, timeoutMs: number): Promise<boolean> {
  if (port === undefined) return Promise.resolve(false)
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (isFine: boolean) => {
      socket.destroy()
      resolve(isFine)
    }
    socket.on('connect', () => end(true))
    socket.on('timeout', () => end(false))
    socket.on('error', () => end(false))
  })
}

function askProgram(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  timeout: number,
): Promise<boolean> {
  return new Promise((resolve) => execFile(file, [...args], { env, timeout }, (error) => resolve(error === null)))
}
