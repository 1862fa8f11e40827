/** @import { Listed, ListName } from './types.d.ts' */
/** @import { StoredObject } from '../src/kube/object.ts' */
import { ApiError, pause, request } from './api.js'
import { kinds } from './kinds.js'
import { denialOf } from './rights.js'

const pageSize = 500
/** Browsers open six HTTP/1.1 connections per server, shared by all tabs: the watches take turns on three of them. */
const connections = 3
const turnSeconds = 1
/** A network that swallows requests without an error counts as lost after this. */
const silenceMs = { watch: 15_000, list: 60_000 }
const retryMs = 3000
/** Lists of users who may not read all namespaces are read again after this. */
const pollMs = 10_000
const namespacesMs = 60_000

/** @typedef {{ objects: Map<string, any>, resourceVersion: string, isKnown: boolean, readError?: string, pollAt?: number }} List `isKnown` once the API has answered or refused; `pollAt` where it is read namespace by namespace */

/**
 * A live copy of all lists: read once, then updated by watches. Each watch runs for a second and resumes from the resource version it
 * last saw; 410 Gone makes it list again.
 */
export class Mirror {
  /** @type {Record<string, List>} */
  #lists = {}
  #stopping = new AbortController()
  /** @type {{ at: number, names: Promise<string[]> } | undefined} */
  #namespaces
  #onChange
  #onAnswer
  #onError

  /** @param {{ onChange: (list: ListName) => void, onAnswer: (askedAt: number) => void, onError: (error: unknown) => void }} listeners */
  constructor({ onChange, onAnswer, onError }) {
    this.#onChange = onChange
    this.#onAnswer = onAnswer
    this.#onError = onError
    for (const name of Object.keys(kinds))
      this.#lists[name] = { objects: new Map(), resourceVersion: '', isKnown: false }
  }

  get isComplete() {
    return Object.values(this.#lists).every(({ isKnown }) => isKnown)
  }

  /** @template {ListName} Name @param {Name} name @returns {Listed[Name][]} */
  all(name) {
    return [...this.#of(name).objects.values()]
  }

  /** Whether a list has been read once, or was refused. @param {ListName} name */
  isKnown(name) {
    return this.#of(name).isKnown
  }

  /** Why the user may not read a list, if that is so. @param {ListName} name */
  readError(name) {
    return this.#of(name).readError
  }

  /**
   * @template {ListName} Name
   * @param {Name} name
   * @param {string | undefined} namespace
   * @param {string} objectName
   * @returns {Listed[Name] | undefined}
   */
  find(name, namespace, objectName) {
    return this.#of(name).objects.get(`${namespace ?? ''}/${objectName}`)
  }

  /** Stores the API's answer to a write, so that users see their own change before the watch reports it. @param {ListName} name @param {StoredObject} object */
  put(name, object) {
    this.#of(name).objects.set(keyOf(object), object)
    this.#onChange(name)
  }

  async start() {
    const turns = /** @type {ListName[]} */ (Object.keys(kinds))
    await Promise.all(turns.map((name) => this.#refresh(name)))
    for (const name of turns) this.#onChange(name)
    for (let index = 0; index < connections; index++) void this.#takeTurns(turns)
  }

  stop() {
    this.#stopping.abort()
  }

  /** @param {ListName[]} turns */
  async #takeTurns(turns) {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await untilVisible(signal)
      const name = turns.shift()
      if (!name) return
      await this.#refresh(name)
      turns.push(name)
    }
  }

  /** @param {ListName} name @returns {List} */
  #of(name) {
    const list = this.#lists[name]
    if (!list) throw new Error(`there is no list ${name}`)
    return list
  }

  /** @param {ListName} name */
  async #refresh(name) {
    const list = this.#of(name)
    const askedAt = Date.now()
    try {
      if (list.pollAt !== undefined && list.pollAt > askedAt) return await pause(300, this.#stopping.signal)
      if (list.resourceVersion) await this.#watch(name, list)
      else await this.#relist(name, list).catch((error) => this.#listByNamespace(name, list, error))
      list.isKnown = true
      delete list.readError
      this.#onAnswer(askedAt)
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      list.resourceVersion = ''
      if (error instanceof ApiError && error.status === 410) return
      // A kind that is not installed, or that the user may not read, only leaves its own view empty.
      if (error instanceof ApiError && [403, 404].includes(error.status)) this.#refuse(name, error, askedAt)
      else this.#onError(error)
      await pause(retryMs, this.#stopping.signal)
    }
  }

  /** @param {ListName} name @param {ApiError} error @param {number} askedAt */
  #refuse(name, { status, message: said }, askedAt) {
    const list = this.#of(name)
    const message = status === 403 ? denialOf({ verb: 'list', ...placeIn(kinds[name].path) }) : said
    const isNews = list.readError !== message
    list.isKnown = true
    list.readError = message
    list.objects.clear()
    this.#onAnswer(askedAt)
    if (isNews) this.#onChange(name)
  }

  /**
   * For users who may read some namespaces only. Refused there, too, the first refusal counts.
   * @param {ListName} name @param {List} list @param {unknown} error
   */
  async #listByNamespace(name, list, error) {
    const { path, isOfOne } = kinds[name]
    if (!(error instanceof ApiError) || error.status !== 403 || isOfOne) throw error
    const cut = path.lastIndexOf('/')
    const found = new Map()
    let isAllowed = false
    for (const namespace of await this.namespaces()) {
      const inside = { objects: new Map(), resourceVersion: '', isKnown: false }
      const at = `${path.slice(0, cut)}/namespaces/${namespace}${path.slice(cut)}`
      await this.#relist(name, inside, at).then(
        () => (isAllowed = true),
        (/** @type {unknown} */ refused) => {
          if (!(refused instanceof ApiError) || refused.status !== 403) throw refused
        },
      )
      for (const [key, object] of inside.objects) found.set(key, object)
    }
    if (!isAllowed) throw error
    list.objects = found
    list.pollAt = Date.now() + pollMs
    this.#onChange(name)
  }

  /** The namespaces whose environments the user may list. @returns {Promise<string[]>} */
  namespaces() {
    if (!this.#namespaces || Date.now() - this.#namespaces.at > namespacesMs) {
      const names = request('/sojourn/v1alpha1/namespaces')
        .then((answer) => answer.json())
        .then((answer) => answer.names)
      this.#namespaces = { at: Date.now(), names }
      names.catch(() => (this.#namespaces = undefined))
    }
    return this.#namespaces.names
  }

  /** @param {ListName} name @param {List} list @param {string} [path] */
  async #relist(name, list, path = kinds[name].path) {
    const { query = '' } = kinds[name]
    const found = new Map()
    /** @type {string | undefined} */
    let next = ''
    let limit = pageSize
    do {
      const page = new URLSearchParams(query)
      page.set('limit', String(limit))
      if (next) page.set('continue', next)
      const answer = await request(`${path}?${page}`, { signal: this.#within(silenceMs.list) }).catch((error) => {
        // Objects of this kind are large: fewer at a time.
        if (!(error instanceof ApiError) || error.status !== 413 || limit < 10) throw error
        limit = Math.ceil(limit / 8)
      })
      if (!answer) continue
      const { items, metadata } = await answer.json()
      for (const item of items) found.set(keyOf(item), item)
      next = metadata.continue || undefined
      list.resourceVersion = metadata.resourceVersion
    } while (next !== undefined)
    list.objects = found
    this.#onChange(name)
  }

  /** @param {number} ms */
  #within(ms) {
    return AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ms)])
  }

  /** @param {ListName} name @param {List} list */
  async #watch(name, list) {
    const { path, query = '' } = kinds[name]
    const page = new URLSearchParams(query)
    page.set('watch', 'true')
    page.set('allowWatchBookmarks', 'true')
    page.set('timeoutSeconds', String(turnSeconds))
    page.set('resourceVersion', list.resourceVersion)
    const answer = await request(`${path}?${page}`, { signal: this.#within(silenceMs.watch) })
    for await (const event of linesOf(answer)) {
      this.#apply(list, event)
      if (event.type !== 'BOOKMARK') this.#onChange(name)
    }
  }

  /** @param {List} list @param {{ type: string, object: any }} event */
  #apply(list, { type, object }) {
    if (type === 'ERROR') throw new ApiError(object.code, object.message)
    list.resourceVersion = object.metadata.resourceVersion
    if (type === 'DELETED') list.objects.delete(keyOf(object))
    else if (type !== 'BOOKMARK') list.objects.set(keyOf(object), object)
  }
}

/** What a path lists. @param {string} path */
function placeIn(path) {
  const parts = path.split('/').slice(1)
  const [resource = '', namespace] = parts.toReversed().filter((part) => part !== 'namespaces')
  const isInside = parts.includes('namespaces')
  return { group: parts[0] === 'apis' ? (parts[1] ?? '') : '', resource, ...(isInside ? { namespace } : {}) }
}

/** @param {StoredObject} object */
function keyOf({ metadata }) {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

/** @param {Response} answer */
async function* linesOf(answer) {
  if (!answer.body) return
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line) yield JSON.parse(line)
  }
}

/** Resolves when the tab is visible: a hidden tab does not watch. @param {AbortSignal} signal */
function untilVisible(signal) {
  if (!document.hidden || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true, signal })
    signal.addEventListener('abort', resolve, { once: true })
  })
}
