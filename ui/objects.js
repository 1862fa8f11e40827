/** @import { Ref } from './types.d.ts' */
import { ask } from './api.js'
import { h } from './dom.js'

/** @typedef {{ group: string, resource: string, isNamespaced: boolean }} Served how the API serves a kind */

/** @type {Map<string, Promise<any>>} */
const versions = new Map()

/** How the API serves a kind; undefined if it does not. @param {Pick<Ref, 'apiVersion' | 'kind'>} ref @returns {Promise<Served | undefined>} */
export async function servedAs({ apiVersion, kind }) {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const known = versions.get(apiVersion) ?? ask(group === '' ? `/api/${version}` : `/apis/${group}/${version}`)
  versions.set(apiVersion, known)
  known.catch(() => versions.delete(apiVersion))
  const { resources = [] } = await known
  const found = resources.find((/** @type {any} */ each) => each.kind === kind && !each.name.includes('/'))
  return found && { group, resource: found.name, isNamespaced: found.namespaced }
}

/** Reads an object as it is stored; throws when it cannot be read. @param {Ref} ref @returns {Promise<any>} */
export async function readObject(ref) {
  const served = await servedAs(ref)
  if (!served) throw new Error(`The cluster does not serve ${ref.kind} of ${ref.apiVersion}.`)
  const { apiVersion, namespace = '', name } = ref
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const inside = served.isNamespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return ask(`${base}${inside}/${served.resource}/${encodeURIComponent(name)}`)
}

/** The address of an object's own page. @param {Ref} ref */
export function objectHref({ apiVersion, kind, namespace, name }) {
  return `#object/${[apiVersion, kind, namespace || '-', name].map(encodeURIComponent).join('/')}`
}

/** Whether an object is in this cluster: of others there is no page. @param {Ref & { provider?: string, cluster?: string }} object */
export function isHere({ provider = 'kubernetes', cluster }) {
  return provider === 'kubernetes' && !cluster
}

/** An object's name, which leads to its page. @param {Ref} object @param {string} text */
export function objectLink(object, text) {
  return isHere(object) ? h('a', { href: objectHref(object) }, text) : h('strong', {}, text)
}

/** @param {string} of the rest of the address @returns {Ref} */
export function refIn(of) {
  const [apiVersion = '', kind = '', namespace = '-', name = ''] = of.split('/').map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return { apiVersion, kind, name, ...(namespace === '-' ? {} : { namespace }) }
}

/** YAML as kubectl prints it, without managedFields and the copy of the last apply. @param {any} object */
export function yamlOf(object) {
  const { managedFields: _, annotations = {}, ...rest } = object.metadata ?? {}
  const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations
  const metadata = { ...rest, ...(Object.keys(kept).length > 0 ? { annotations: kept } : {}) }
  const shown = { ...object, metadata }
  // The values of a Secret are shown nowhere.
  if (object.kind === 'Secret') for (const field of ['data', 'stringData']) delete shown[field]
  return textOf(shown, '').trimStart()
}

/** @param {any} value @param {string} indent @returns {string} behind the colon or the dash */
function textOf(value, indent) {
  if (value === null || value === undefined) return ' null\n'
  if (typeof value === 'string') return scalar(value, indent)
  if (typeof value !== 'object') return ` ${value}\n`
  const entries = Array.isArray(value) ? value : Object.entries(value).filter(([, inner]) => inner !== undefined)
  if (entries.length === 0) return Array.isArray(value) ? ' []\n' : ' {}\n'
  const lines = Array.isArray(value)
    ? value.map((each) => `${indent}-${nested(each, indent)}`)
    : entries.map(
        ([key, inner]) => `${indent}${plain(key)}:${textOf(inner, Array.isArray(inner) ? indent : `${indent}  `)}`,
      )
  return `\n${lines.join('')}`
}

/** An item of a list: the first field of a map stands behind the dash. @param {any} value @param {string} indent */
function nested(value, indent) {
  const text = textOf(value, `${indent}  `)
  return text.startsWith('\n') ? ` ${text.slice(1).trimStart()}` : text
}

/** @param {string} text @param {string} indent */
function scalar(text, indent) {
  if (!/\n./.test(text) || /[^\n\x20-\x7e\u00a0-\ud7ff]| \n/.test(text)) return ` ${plain(text)}\n`
  const lines = text.replace(/\n$/, '').split('\n')
  return ` |${text.endsWith('\n') ? '' : '-'}\n${lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('')}`
}

/** @param {string} text */
function plain(text) {
  const isPlain =
    /^[A-Za-z/.][\w./@ -]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|\.(?:inf|nan))$/i.test(text)
  return isPlain && !text.endsWith(' ') ? text : JSON.stringify(text)
}
