import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import { configuredHost } from '../proxy/wire/host.ts'
import { routeDefaults } from '../proxy/routing/route.ts'
import type { StaticAnswer } from '../proxy/routing/static-answer.ts'
import { annotation, type Fault } from './annotations.ts'
import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { readStaticAnswers } from './static-answers.ts'

/** Where each pod reports how many connections or requests it has open. */
export interface ActivityProbe {
  /** The Service's port, by name or number; its first when absent. */
  readonly port: string | undefined
  readonly path: string
}

/** Of one Service: every replica compares them with those of all others. */
const maxDomains = 100
const namePattern = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/
const appsKinds = new Set(['Deployment', 'StatefulSet', 'ReplicaSet'])

/** Reads annotations by type. An unusable value adds a fault, and the default is returned instead. */
export class AnnotationReader {
  readonly #annotations: Readonly<Record<string, string>>
  readonly #faults: Fault[]

  constructor(annotations: Readonly<Record<string, string>>, faults: Fault[]) {
    this.#annotations = annotations
    this.#faults = faults
  }

  text(key: string): string | undefined {
    return this.#annotations[key]?.trim() || undefined
  }

  list(key: string): string[] {
    return listOf(this.#annotations[key])
  }

  /** The Deployment of this name. proxless allowed `namespace/name`; a workload must be in its Service's namespace now. */
  deployment(name: string, namespace: string): ObjectRef[] {
    if (namePattern.test(name)) return [{ apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }]
    const hint = name.includes('/')
      ? 'names another namespace, and a workload must be in that of its Service'
      : 'is not the name of a Deployment'
    return this.#wrong(annotation.deployment, `"${name}" ${hint}`, [])
  }

  /** `Kind/name` of the apps group, or `group/version/Kind/name` of any. */
  workloads(key: string, namespace: string): ObjectRef[] {
    return this.list(key).flatMap((written) => {
      const parts = written.split('/')
      const name = parts.at(-1) ?? ''
      const kind = parts.at(-2) ?? ''
      const isApps = parts.length === 2 && appsKinds.has(kind)
      if ((!isApps && parts.length !== 4) || !namePattern.test(name)) {
        const message = `"${written}" is neither Deployment/NAME, StatefulSet/NAME nor GROUP/VERSION/KIND/NAME`
        return this.#wrong(key, message, [])
      }
      return [{ apiVersion: isApps ? 'apps/v1' : `${parts[0]}/${parts[1]}`, kind, namespace, name }]
    })
  }

  domains(): string[] {
    const named = this.list(annotation.domains)
    if (named.length > maxDomains)
      this.#wrong(annotation.domains, `names ${named.length} hosts, and only the first ${maxDomains} count`, undefined)
    const hosts = named.slice(0, maxDomains).flatMap((written) => {
      const host = configuredHost(written)
      return host === undefined ? this.#wrong(annotation.domains, `"${written}" is not a host name`, []) : [host]
    })
    return [...new Set(hosts)]
  }

  seconds<D extends number | undefined>(key: string, otherwiseMs: D, min: number): number | D {
    const seconds = this.count(key, undefined, min)
    return seconds === undefined ? otherwiseMs : seconds * 1000
  }

  count<D extends number | undefined>(key: string, otherwise: D, min: number): number | D {
    const text = this.text(key)
    if (text === undefined) return otherwise
    const value = /^-?[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min) return value
    return this.#wrong(key, `"${text}" is not a whole number of at least ${min}`, otherwise)
  }

  /** `ifWrong` applies to a value that is neither true nor false. */
  flag(key: string, otherwise: boolean, ifWrong = otherwise): boolean {
    const text = this.text(key)?.toLowerCase()
    if (text === undefined) return otherwise
    if (text === 'true' || text === 'on' || text === 'yes') return true
    if (text === 'false' || text === 'off' || text === 'no' || text === 'never') return false
    return this.#wrong(key, `"${text}" is neither true nor false`, ifWrong)
  }

  /** A flag, or `ConfigMap/NAME`. */
  waitingPage(): { readonly isShown: boolean; readonly files: string | undefined } {
    const text = this.text(annotation.waitingPage) ?? ''
    const [kind, name = '', ...more] = text.split('/')
    if (kind !== 'ConfigMap')
      return { isShown: this.flag(annotation.waitingPage, routeDefaults.waitingPage), files: undefined }
    if (namePattern.test(name) && more.length === 0) return { isShown: true, files: name }
    const message = `"${text}" is not ConfigMap/NAME of one in the namespace of the Service`
    return this.#wrong(annotation.waitingPage, message, { isShown: true, files: undefined })
  }

  staticAnswers(): readonly StaticAnswer[] {
    const text = this.text(annotation.staticAnswers)
    if (text === undefined) return []
    const { answers, problems } = readStaticAnswers(text)
    for (const problem of problems) this.#wrong(annotation.staticAnswers, problem, undefined)
    return answers
  }

  time(key: string): number | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    return parseTime(text) ?? this.#wrong(key, `"${text}" is not a time such as 2026-12-24T18:00:00Z`, undefined)
  }

  awakeHours(): WorkScheduleSpec | undefined {
    const text = this.text(annotation.awakeHours)
    if (text === undefined) return undefined
    const hint = 'is not like "Mon-Fri 08:00-18:00 Europe/Berlin"'
    return parseAwakeHours(text) ?? this.#wrong(annotation.awakeHours, `"${text}" ${hint}`, undefined)
  }

  pathPrefix(): string {
    const text = this.text(annotation.pathPrefix)
    if (text === undefined) return routeDefaults.pathPrefix
    if (/^\/[!-~]*$/.test(text)) return text
    return this.#wrong(annotation.pathPrefix, `"${text}" is not a path`, routeDefaults.pathPrefix)
  }

  /** `/path`, or `PORT/path`. */
  activityProbe(): ActivityProbe | undefined {
    const text = this.text(annotation.activityProbe)
    if (text === undefined) return undefined
    const [, port, path] = /^([a-z0-9-]*)(\/[!-~]*)$/.exec(text) ?? []
    if (path === undefined)
      return this.#wrong(annotation.activityProbe, `"${text}" is neither /PATH nor PORT/PATH`, undefined)
    return { port: port || undefined, path }
  }

  bypassAfterMs(): number | undefined {
    const seconds = this.count(annotation.bypassAfter, undefined, 1)
    if (seconds === undefined) return undefined
    const missing = [annotation.takeover, annotation.activityProbe].find((key) => this.text(key) === undefined)
    if (missing === undefined) return seconds * 1000
    return this.#wrong(
      annotation.bypassAfter,
      `needs ${missing}: without it the activator cannot tell when the workload is idle`,
      undefined,
    )
  }

  /** Notes a fault, and returns what applies instead. */
  #wrong<T>(key: string, message: string, otherwise: T): T {
    this.#faults.push({ annotation: key, message })
    return otherwise
  }
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
