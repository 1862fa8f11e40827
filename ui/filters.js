/** @import { Mirror } from './mirror.js' */
import { session } from './api.js'
import { fill, h } from './dom.js'

/** @typedef {{ ns: string, owner: string, q: string }} Filters namespace, owner (`me` is the user) and text; '' is any */
/** @typedef {{ namespace?: string, owner?: string, text: string }} Facts what filters look at */

/** The page and the filters of the address: `#cleanup?ns=shop&owner=me&q=report`. */
export function readAddress() {
  const [place = '', query = ''] = location.hash.slice(1).split('?')
  const given = new URLSearchParams(query)
  const of = (/** @type {string} */ name) => given.get(name) ?? ''
  return { place, filters: /** @type {Filters} */ ({ ns: of('ns'), owner: of('owner'), q: of('q') }) }
}

/** The address of a page with these filters. @param {string} place @param {Partial<Filters>} filters */
export function addressOf(place, filters) {
  const set = Object.entries(filters).filter(([, value]) => value !== '')
  return `#${place}${set.length > 0 ? `?${new URLSearchParams(set)}` : ''}`
}

/** Whether an owner is the user, by name or group. @param {string | undefined} owner */
function isMe(owner) {
  const names = (owner ?? '').toLowerCase().split(/[,;\s]+/)
  return [session.user, ...session.groups].some((name) => names.includes(name.toLowerCase()))
}

/** Owners of namespaces, as their environments name them. @param {Mirror} mirror @returns {Map<string, string>} */
export function namespaceOwners(mirror) {
  const owners = mirror.all('environments').map(({ metadata, spec, status }) => {
    return /** @type {[string, string]} */ ([metadata.namespace ?? '', status?.owner ?? spec.owner ?? ''])
  })
  return new Map(owners.filter(([, owner]) => owner !== ''))
}

/**
 * Filters of a page, kept in the URL: a reload and a link show the same.
 * @param {{ label: string, onChange: () => void }} options
 */
export function filterBar({ label, onChange }) {
  const wanted = readAddress().filters
  const change = (/** @type {Partial<Filters>} */ by) => {
    Object.assign(wanted, by)
    const address = addressOf(readAddress().place, wanted)
    // A choice can be taken back with the browser's Back; each typed letter not.
    if ('q' in by) history.replaceState(null, '', address)
    else history.pushState(null, '', address)
    dispatchEvent(new Event('filters'))
    onChange()
  }
  const search = h('input', {
    type: 'search',
    value: wanted.q,
    placeholder: 'Filter',
    'aria-label': label,
    oninput: () => change({ q: search.value }),
  })
  const select = (/** @type {'ns' | 'owner'} */ name, /** @type {string} */ title) => {
    const element = h('select', { 'aria-label': title, onchange: () => change({ [name]: element.value }) })
    return element
  }
  const [namespace, owner] = [select('ns', 'Namespace'), select('owner', 'Owner')]
  return {
    elements: [namespace, owner, search],
    get isSet() {
      return Object.values(wanted).some((value) => value !== '')
    },
    /** Offers what can be chosen. @param {Iterable<string | undefined>} namespaces @param {Iterable<string | undefined>} owners */
    offer(namespaces, owners) {
      offerIn(namespace, ['all namespaces'], new Set([...namespaces, wanted.ns]), wanted.ns)
      offerIn(owner, ['any owner', 'me'], new Set([...owners, wanted.owner]), wanted.owner)
    },
    /** @param {Facts} facts */
    matches({ namespace: its, owner: whose, text }) {
      if (wanted.ns !== '' && its !== wanted.ns) return false
      if (wanted.owner !== '' && !(wanted.owner === 'me' ? isMe(whose) : whose === wanted.owner)) return false
      return wanted.q === '' || text.toLowerCase().includes(wanted.q.toLowerCase())
    },
    clear: () => {
      search.value = ''
      change({ ns: '', owner: '', q: '' })
    },
  }
}

/** @param {HTMLSelectElement} select @param {string[]} first @param {Set<string | undefined>} found @param {string} chosen */
function offerIn(select, first, found, chosen) {
  const [any = '', ...fixed] = first
  const names = [...found]
    .filter((name) => name && !fixed.includes(name))
    .sort((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1))
  const values = ['', ...fixed, ...names]
  const known = [...select.options].map(({ value }) => value)
  if (JSON.stringify(known) !== JSON.stringify(values) && document.activeElement !== select)
    fill(select, ...values.map((value) => h('option', { value }, value || any)))
  select.value = chosen
  select.classList.toggle('set', chosen !== '')
}
