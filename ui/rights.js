import { ask } from './api.js'

/** @typedef {{ patch: boolean, delete: boolean }} Rights what the user may do with the environment of a namespace */

const none = { patch: false, delete: false }

/** What the user may do, asked once per namespace; `onAnswer` is called when more is known. @param {() => void} onAnswer */
export function rightsOf(onAnswer) {
  /** @type {Map<string, Rights>} */
  const known = new Map()
  const learn = async (/** @type {string} */ namespace) => {
    known.set(namespace, none)
    const environments = { group: 'sojourn.dev', resource: 'environments', verb: 'patch', namespace }
    const [patch, remove] = await Promise.all([
      isAllowed(environments),
      isAllowed({ group: '', resource: 'namespaces', verb: 'delete', namespace, name: namespace }),
    ])
    known.set(namespace, { patch, delete: remove })
    onAnswer()
  }
  return {
    /** @param {string} namespace @returns {Rights} */
    of(namespace) {
      if (!known.has(namespace)) learn(namespace).catch(() => known.delete(namespace))
      return known.get(namespace) ?? none
    },
  }
}

/** @param {Record<string, string>} resourceAttributes @returns {Promise<boolean>} */
async function isAllowed(resourceAttributes) {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
  const { status } = await ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body })
  return status?.allowed === true
}
