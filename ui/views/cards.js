/** @import { StoredObject } from '../../src/kube/object.ts' */
/** @import { Mirror } from '../mirror.js' */
/** @import { Child, ListName, Ref, View } from '../types.d.ts' */
import { CardGrid } from '../card-grid.js'
import { notify } from '../dialogs.js'
import { fill, h, pill } from '../dom.js'

/**
 * A page of cards that follows the mirror.
 * @template {StoredObject} T
 * @param {{ title: string, lead: string, empty: [string, string], lists: ListName[], mirror: Mirror, items: () => readonly T[], card: (item: T) => HTMLElement, textOf: (item: T) => string }} options
 * @returns {View}
 */
export function cardsView({ title, lead, empty, lists, mirror, items, card, textOf }) {
  const scroller = document.getElementById('main') ?? document.documentElement
  const keyOf = (/** @type {T} */ { metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`
  const grid = new CardGrid({ card, keyOf, scroller })
  const foot = h('div.foot')
  const count = h('span.count', { role: 'status' })
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': `Filter ${title.toLowerCase()}`,
    oninput: () => {
      scroller.scrollTop = 0
      show()
    },
  })
  const show = () => {
    const text = search.value.toLowerCase()
    const all = items()
    const found = text ? all.filter((item) => textOf(item).toLowerCase().includes(text)) : all
    const readError = lists.map((name) => mirror.readError(name)).find(Boolean)
    fill(count, found.length === all.length ? all.length : `${found.length} of ${all.length}`)
    grid.show(found)
    fill(
      foot,
      readError && h('p.problem', {}, readError),
      found.length === 0 && !readError && nothingFound(mirror, all.length, empty),
    )
  }
  return {
    element: h(
      'section.page',
      { 'aria-label': title },
      h('div.heading', {}, h('h1', {}, title, ' ', count), search),
      h('p.lead', {}, lead),
      grid.element,
      foot,
    ),
    show,
    concerns: (name) => lists.includes(name),
    close: () => grid.close(),
  }
}

/**
 * Why the page is empty: it is still loading, there are no objects, or the filter hides them.
 * @param {Mirror} mirror
 * @param {number} of the number of objects without the filter
 * @param {[string, string]} none
 */
export function nothingFound(mirror, of, none) {
  if (of > 0) return emptyNote('Nothing matches the filter. Clear it to see everything.')
  return mirror.isComplete ? emptyNote(...none) : emptyNote('Loading…')
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

/** `Deployment · team` @param {Pick<Ref, 'kind' | 'namespace'>} object */
export function kindAndPlace({ kind, namespace }) {
  return `${kind}${namespace ? ` · ${namespace}` : ''}`
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
