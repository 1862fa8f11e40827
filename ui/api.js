const secretKey = 'sojourn-session'
/** @type {Promise<boolean> | undefined} */
let renewing

/** A response other than success, with the API server's message. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

/**
 * The session: a cookie that scripts cannot read, and a secret that this page must send beside it. The secret alone is worth nothing;
 * without it no other site, and no other server of this host, can use the cookie.
 */
export const session = {
  get secret() {
    return localStorage.getItem(secretKey) ?? ''
  },
  /** Signs in with a token, the code of a one-time link, or as the user that a proxy names. @param {'token' | 'once' | 'proxy'} how @param {object} proof */
  async signIn(how, proof) {
    const { secret } = await ask(`/auth/${how}`, { method: 'POST', body: proof })
    session.keep(secret)
  },
  /** @param {string} secret */
  keep: (secret) => localStorage.setItem(secretKey, secret),
  /** Takes over a session that the cookie shows, too. Any site can send a user here with the secret of none. @param {string} secret */
  async adopt(secret) {
    const answer = await reach('/auth/refresh', { method: 'POST', headers: { 'x-sojourn-session': secret } })
    if (!answer.ok) throw new ApiError(answer.status, await messageOf(answer))
    session.keep(secret)
  },
  /** Ends the session; the address at which the user signs out of the provider, if there is one. @returns {Promise<string | undefined>} */
  async signOut() {
    const ended = ask('/auth/logout', { method: 'POST' })
    session.forget()
    return (await ended.catch(() => ({}))).next
  },
  /** The other tabs see the removal, too. */
  forget: () => localStorage.removeItem(secretKey),
  /**
   * Prolongs the session: it ends an hour after the last call. One tab at a time: a provider that rotates refresh tokens ends the
   * session when an old one is used. @returns {Promise<boolean>} whether there still is a session
   */
  refresh() {
    renewing ??= navigator.locks
      .request('sojourn-refresh', () => send('/auth/refresh', { method: 'POST' }))
      .then(({ ok }) => ok)
      .finally(() => (renewing = undefined))
    return renewing
  },
  /** Calls back when another tab signs out, and starts anew when it signs in as another user. @param {() => void} callback @param {AbortSignal} signal */
  onEnd(callback, signal) {
    const listen = (/** @type {StorageEvent} */ { key, newValue }) => {
      if (key !== secretKey && key !== null) return
      if (newValue === null) callback()
      else location.reload()
    }
    addEventListener('storage', listen, { signal })
  },
  /** The name and groups of the user, set by `learnUser`. */
  user: '',
  /** @type {readonly string[]} */
  groups: [],
  /** The page that the user sees first. */
  startPage: 'environments',
}

/** @typedef {{ method?: string, body?: unknown, type?: string, signal?: AbortSignal, accept?: string }} RequestOptions */

/**
 * Sends a request to the API; throws ApiError for anything but success.
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options = {}) {
  let response = await send(path, options)
  // An ID token lasts for minutes, a session for hours.
  if (response.status === 401 && session.secret && !path.startsWith('/auth/') && (await session.refresh()))
    response = await send(path, options)
  if (response.ok) return response
  throw new ApiError(response.status, await messageOf(response))
}

/** @param {string} path @param {RequestOptions} options */
function send(path, { method = 'GET', body, type = 'application/json', signal, accept }) {
  // Writes pass the dashboard's own route, which leaves an Event with the user's name.
  const isWrite = method !== 'GET' && /^\/apis?\//.test(path) && !path.includes('/selfsubject')
  return reach(isWrite ? `/act${path}` : path, {
    method,
    headers: {
      ...(session.secret ? { 'x-sojourn-session': session.secret } : {}),
      accept: accept ?? 'application/json',
      ...(body === undefined ? {} : { 'content-type': type }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
  })
}

/** `fetch` with a clear error instead of the browser's “Failed to fetch”. @param {string} path @param {RequestInit} options */
async function reach(path, options) {
  try {
    return await fetch(path, options)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw new Error('The server cannot be reached.', { cause: error })
  }
}

/**
 * Sends a request and parses the JSON answer.
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<any>}
 */
export async function ask(path, options) {
  return (await request(path, options)).json()
}

/** Merges a change into an object. @param {string} path @param {object} body */
export function patch(path, body) {
  return ask(path, { method: 'PATCH', body, type: 'application/merge-patch+json' })
}

/** An error handler for creates: if the object exists by now (409), runs the change instead; other errors are rethrown. @param {() => Promise<any>} change */
export function unlessThere(change) {
  return (/** @type {unknown} */ error) => {
    if (error instanceof ApiError && error.status === 409) return change()
    throw error
  }
}

/** Asks the API who the user is, and chooses the first page: Environments, or the Overview for who sees that there is none. */
export async function learnUser() {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { status } = await ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body })
  session.user = status?.userInfo?.username ?? 'unknown'
  session.groups = status?.userInfo?.groups ?? []
  const seesAll = await mayDo({ verb: 'list', group: 'sojourn.dev', resource: 'environments' })
  const found = seesAll
    ? await ask('/apis/sojourn.dev/v1alpha1/environments?limit=1').catch(() => undefined)
    : undefined
  session.startPage = found?.items.length === 0 ? 'overview' : 'environments'
}

/** @typedef {{ verb: string, group: string, resource: string, namespace?: string, name?: string }} Access */

/** Whether the user may do this. @param {Access} resourceAttributes @returns {Promise<boolean>} */
export async function mayDo(resourceAttributes) {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
  const { status } = await ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body })
  return status?.allowed === true
}

/** The message of anything thrown. @param {unknown} error */
export function messageIn(error) {
  return error instanceof Error ? error.message : String(error)
}

/** @param {Response} response @returns {Promise<string>} */
async function messageOf(response) {
  const text = await response.text().catch(() => '')
  try {
    return JSON.parse(text).message || response.statusText
  } catch {
    return text.slice(0, 300) || response.statusText
  }
}

/** Waits; returns early when the signal aborts. @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
