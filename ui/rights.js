/** @import { Ref } from './types.d.ts' */
/** @import { Access } from './api.js' */
import { mayDo, session } from './api.js'
import { servedAs } from './objects.js'

const knownMs = 60_000
/** Answers of all views, by user. @type {Map<string, { at: number, denied: string }>} */
const known = new Map()

/**
 * What the user may do, asked once a minute for each access; `onAnswer` is called when more is known.
 * @param {() => void} onAnswer
 */
export function rightsOf(onAnswer) {
  const learn = async (/** @type {string} */ key, /** @type {Promise<Access | undefined>} */ asked) => {
    const before = known.get(key)
    known.set(key, { at: Date.now(), denied: before?.denied ?? 'Checking what you may do…' })
    const access = await asked
    const denied = !access || (await mayDo(access)) ? '' : denialOf(access)
    known.set(key, { at: Date.now(), denied })
    if (before?.denied !== denied) onAnswer()
  }
  const say = (/** @type {string} */ what, /** @type {() => Promise<Access | undefined>} */ access) => {
    const key = `${session.user} ${what}`
    if (Date.now() - (known.get(key)?.at ?? 0) > knownMs) learn(key, access()).catch(() => known.delete(key))
    return known.get(key)?.denied ?? ''
  }
  return {
    /** Why the user may not do this; '' when they may. @param {Access} access @returns {string} */
    denied: (access) => say(JSON.stringify(access), async () => access),
    /** The same for a kind of which the plural is not known. @param {string} verb @param {Ref} object @returns {string} */
    deniedKind(verb, { apiVersion, kind, namespace }) {
      return say([verb, apiVersion, kind, namespace].join(' '), async () => {
        const served = await servedAs({ apiVersion, kind })
        return served && { verb, group: served.group, resource: served.resource, ...(namespace ? { namespace } : {}) }
      })
    },
  }
}

/** Which right is missing, and who can give it. @param {Access} access */
export function denialOf({ verb, group, resource, namespace }) {
  const where = namespace ? ` in ${namespace}` : ''
  const plural = group === '' ? resource : `${resource}.${group}`
  return `You may not ${verb} ${resource}${where}. Ask an administrator for a role with the verb ${verb} on ${plural}.`
}
