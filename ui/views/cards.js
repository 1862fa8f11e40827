import { fill, h } from '../dom.js'

const pageSize = 60

/**
 * A page of cards that follows the mirror; a long one is shown piece by piece.
 * @param {{ title: string, lead: string, empty: string, lists: string[], mirror: any, items: () => any[], card: (item: any) => HTMLElement, textOf?: (item: any) => string }} options
 */
export function cardsView({ title, lead, empty, lists, mirror, items, card, textOf = (item) => JSON.stringify(item) }) {
  let most = pageSize
  const cards = h('div.cards')
  const foot = h('div.foot')
  const count = h('span.count')
  const search = h('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': `Filter ${title.toLowerCase()}`,
    oninput: () => {
      most = pageSize
      show()
    },
  })
  const show = () => {
    const text = search.value.toLowerCase()
    const all = items()
    const found = text ? all.filter((item) => textOf(item).toLowerCase().includes(text)) : all
    const trouble = lists.map((name) => mirror.trouble(name)).find(Boolean)
    const focused = focusPath(cards)
    fill(count, String(all.length))
    fill(cards, ...found.slice(0, most).map(card))
    focused?.()
    fill(
      foot,
      trouble && h('p.problem', {}, trouble),
      found.length === 0 && !trouble && h('p.empty', {}, all.length === 0 ? empty : 'Nothing matches the filter.'),
      found.length > most && h('button', { type: 'button', onclick: showMore }, `Show more (${found.length - most})`),
    )
  }
  const showMore = () => {
    most += pageSize
    show()
  }
  return {
    element: h(
      'section.page',
      {},
      h('div.heading', {}, h('h1', {}, title, ' ', count), search),
      h('p.lead', {}, lead),
      cards,
      foot,
    ),
    show,
    concerns: (name) => lists.includes(name),
    close() {},
  }
}

/** Redrawing must not throw the keyboard off its button: remembers which one had the focus, by its place. */
function focusPath(root) {
  const buttons = () => [...root.querySelectorAll('button')]
  const index = buttons().indexOf(document.activeElement)
  return index < 0 ? undefined : () => buttons()[index]?.focus()
}
