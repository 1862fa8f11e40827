import { ask } from './api.js'

/** @typedef {{ verb: string, group: string, resource: string, namespace?: string, name?: string }} Access */

const knownMs = 60_000

/**
 * What the user may do, asked once a minute for each access; `onAnswer` is called when more is known.
 * @param {() => void} onAnswer
 */
export function rightsOf(onAnswer) {
  /** @type {Map<string, { at: number, denied: string }>} */
  const known = new Map()
  const learn = async (/** @type {string} */ key, /** @type {Access} */ access) => {
    const before = known.get(key)
    known.set(key, { at: Date.now(), denied: before?.denied ?? 'Checking what you may do…' })
    const denied = (await isAllowed(access)) ? '' : denialOf(access)
    known.set(key, { at: Date.now(), denied })
    if (before?.denied !== denied) onAnswer()
  }
  return {
    /** Why the user may not do this; '' when they may. @param {Access} access @returns {string} */
    denied(access) {
      const key = JSON.stringify(access)
      if (Date.now() - (known.get(key)?.at ?? 0) > knownMs) learn(key, access).catch(() => known.delete(key))
      return known.get(key)?.denied ?? ''
    },
  }
}

/** @param {Access} access */
function denialOf({ verb, group, resource, namespace }) {
  const where = namespace ? ` in ${namespace}` : ''
  const plural = group === '' ? resource : `${resource}.${group}`
  return `You may not ${verb} ${resource}${where}. Ask an administrator for a role with the verb ${verb} on ${plural}.`
}

/** @param {Access} resourceAttributes @returns {Promise<boolean>} */
async function isAllowed(resourceAttributes) {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
  const { status } = await ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body })
  return status?.allowed === true
}
