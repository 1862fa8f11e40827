/** @import { StoredObject } from '../../src/kube/object.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Child, ListName, Ref, View } from '../types.d.ts' */
import { CardGrid } from '../card-grid.js'
import { filterBar, namespaceOwners } from '../filters.js'
import { rightsOf } from '../rights.js'
import { notify } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'

/** @typedef {ReturnType<typeof rightsOf>} Rights */

/**
 * A page of cards that follows the mirror. Its filters are in the URL.
 * @template {StoredObject} T
 * @param {{ title: string, lead: string, empty: [string, string], lists: ListName[], mirror: Mirror, items: () => readonly T[], card: (item: T, rights: Rights) => HTMLElement, textOf: (item: T) => string, namespaceOf?: (item: T) => string | undefined, ownerOf?: (item: T) => string | undefined }} options
 * `ownerOf` defaults to the owner of the namespace
 * @returns {View}
 */
export function cardsView({ title, lead, empty, lists, mirror, items, card, textOf, namespaceOf, ownerOf }) {
  const scroller = document.getElementById('main') ?? document.documentElement
  const keyOf = (/** @type {T} */ { metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`
  const rights = rightsOf(() => show())
  const grid = new CardGrid({ card: (/** @type {T} */ item) => card(item, rights), keyOf, scroller })
  const foot = h('div.foot')
  const count = h('span.count', { role: 'status' })
  const filters = filterBar({
    label: `Filter ${title.toLowerCase()}`,
    onChange: () => {
      scroller.scrollTop = 0
      show()
    },
  })
  const show = () => {
    const owners = namespaceOwners(mirror)
    const factsOf = (/** @type {T} */ item) => {
      const namespace = namespaceOf ? namespaceOf(item) : item.metadata.namespace
      return {
        namespace,
        owner: ownerOf?.(item) ?? owners.get(namespace ?? ''),
        // Most objects are shown without a text to look for.
        get text() {
          return textOf(item)
        },
      }
    }
    const all = items().map((item) => ({ item, facts: factsOf(item) }))
    const found = all.filter(({ facts }) => filters.matches(facts)).map(({ item }) => item)
    const readError = lists.map((name) => mirror.readError(name)).find(Boolean)
    filters.offer(
      all.map(({ facts }) => facts.namespace),
      all.map(({ facts }) => facts.owner),
    )
    const [some, every] = [found.length, all.length].map((number) => number.toLocaleString())
    fill(count, some === every ? every : `${some} of ${every}`)
    grid.show(found)
    fill(
      foot,
      readError && h('p.problem', {}, readError),
      found.length === 0 && !readError && nothingFound(mirror, { of: all.length, clear: filters.clear }, empty),
    )
  }
  return {
    element: h(
      'section.page',
      { 'aria-label': title },
      h(
        'div.heading.listing',
        {},
        h('h1', {}, title, ' ', count),
        h('p.lead', {}, lead),
        h('div.filters', {}, ...filters.elements),
      ),
      grid.element,
      foot,
    ),
    show,
    concerns: (name) => lists.includes(name) || name === 'environments',
    close: () => grid.close(),
  }
}

/**
 * Why the page is empty: it is still loading, there are no objects, or the filters hide them.
 * @param {Mirror} mirror
 * @param {{ of: number, clear: () => void }} filtered `of` is the number of objects without the filters
 * @param {[string, string]} none
 */
export function nothingFound(mirror, { of, clear }, none) {
  if (of === 0) return mirror.isComplete ? emptyNote(...none) : emptyNote('Loading…')
  const note = emptyNote(`The filters hide all ${of.toLocaleString()} objects.`)
  note.append(h('button', { type: 'button', onclick: clear }, 'Clear filters'))
  return note
}

/** An empty state: that there is nothing, and what to do about it. @param {string} text */
export function emptyNote(text, help = '') {
  return h('div.empty', {}, h('p', {}, text), help !== '' && h('small', {}, help))
}

/**
 * The head of a card: the object and its state.
 * @param {Pick<Ref, 'name'>} object
 * @param {string} where
 * @param {[string, string]} state word and tone
 * @param {string} [href] the object's own page
 */
export function cardHead({ name }, where, [word, tone], href) {
  const title = h('strong', {}, href === undefined ? name : h('a', { href }, name))
  return h('header', {}, h('div.who', {}, title, h('small', {}, where)), pill(word, tone))
}

/** What an object is called: an Environment by its namespace. @param {Pick<Ref, 'kind' | 'name' | 'namespace'>} object */
export function titleOf({ kind, name, namespace }) {
  return kind === 'Environment' ? (namespace ?? name) : name
}

/** `Deployment · team`; `Environment`, whose title is its namespace. @param {Pick<Ref, 'kind' | 'namespace'>} object */
export function kindAndPlace({ kind, namespace }) {
  return `${kind}${namespace && kind !== 'Environment' ? ` · ${namespace}` : ''}`
}

/**
 * A button whose action asks for confirmation first. A denied one can be reached and says why it does nothing.
 * @param {string} label
 * @param {() => void} onclick
 * @param {{ tone?: string, about?: string, denied?: string }} [options] `about` distinguishes buttons with the same label for screen readers
 * @returns {Child}
 */
export function actionButton(label, onclick, { tone = '', about = '', denied = '' } = {}) {
  const name = about === '' ? undefined : `${label} ${about}`
  const given = { type: 'button', 'aria-label': name }
  if (denied === '') return h(tone === '' ? 'button' : `button.${tone}`, { ...given, onclick }, label)
  return h('button', { ...given, 'aria-disabled': 'true', title: denied, onclick: () => notify(denied, 'bad') }, label)
}
