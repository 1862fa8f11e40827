const tokenKey = 'sojourn-token'

/** What the API refused, in its own words. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

/** The token, for this tab only. It travels in the Authorization header alone, so no other site can use it. */
export const session = {
  get token() {
    return sessionStorage.getItem(tokenKey) ?? ''
  },
  signIn: (token) => sessionStorage.setItem(tokenKey, token),
  signOut: () => sessionStorage.removeItem(tokenKey),
}

/**
 * Asks the API; throws ApiError for anything but success.
 * @param {string} path
 * @param {{ method?: string, body?: unknown, type?: string, signal?: AbortSignal, accept?: string }} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, { method = 'GET', body, type = 'application/json', signal, accept } = {}) {
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${session.token}`,
      accept: accept ?? 'application/json',
      ...(body === undefined ? {} : { 'content-type': type }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  })
  if (response.ok) return response
  throw new ApiError(response.status, await messageOf(response))
}

/** @returns {Promise<any>} the answer as an object */
export async function ask(path, options) {
  return (await request(path, options)).json()
}

/** Merges a change into an object. */
export function patch(path, body) {
  return ask(path, { method: 'PATCH', body, type: 'application/merge-patch+json' })
}

/** For a create that lost a race: changes what is there instead. Other failures stay failures. */
export function unlessThere(change) {
  return (error) => {
    if (error instanceof ApiError && error.status === 409) return change()
    throw error
  }
}

/** Who the token belongs to. */
export async function whoAmI() {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { status } = await ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', { method: 'POST', body })
  return status?.userInfo?.username ?? 'unknown'
}

async function messageOf(response) {
  const text = await response.text().catch(() => '')
  try {
    return JSON.parse(text).message || response.statusText
  } catch {
    return text.slice(0, 300) || response.statusText
  }
}
