import { h } from './dom.js'

const overscan = 6
const steps = new Map([
  ['ArrowDown', 1],
  ['ArrowUp', -1],
  ['Home', -Infinity],
  ['End', Infinity],
])

/**
 * A list of any length of which only the visible rows are in the DOM. Arrow keys, Home, End and Page keys move; Enter opens.
 * @template T
 */
export class VirtualList {
  /** @type {readonly T[]} */
  #items = []
  #active = 0
  /** @type {Map<number, HTMLElement>} */
  #rows = new Map()
  #options
  #spacer = h('div.rows', { role: 'presentation' })
  #measure = new ResizeObserver(() => this.draw())

  /** @param {{ label: string, row: (item: T) => HTMLElement, keyOf: (item: T) => string, onOpen: (item: T) => void }} options */
  constructor(options) {
    this.#options = options
    this.element = h(
      'div.virtual',
      {
        tabIndex: 0,
        role: 'listbox',
        'aria-label': options.label,
        onscroll: () => this.draw(),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
        onclick: (/** @type {MouseEvent} */ event) => this.#onClick(event),
      },
      this.#spacer,
    )
    this.#measure.observe(this.element)
  }

  /** Replaces the items. While the list has the focus, the active item stays active, wherever it moves. @param {readonly T[]} items */
  show(items) {
    const before = this.#active
    const at = this.#items[before]
    const isFollowed = at !== undefined && document.activeElement === this.element
    const key = isFollowed ? this.#options.keyOf(at) : ''
    const found = isFollowed ? items.findIndex((item) => this.#options.keyOf(item) === key) : -1
    this.#items = items
    this.#active = found >= 0 ? found : Math.min(before, Math.max(0, items.length - 1))
    this.#rows.clear()
    if (found >= 0 && found !== before) this.#reveal()
    else this.draw()
  }

  draw() {
    const height = this.#rowHeight()
    const { scrollTop, clientHeight } = this.element
    const first = Math.max(0, Math.floor(scrollTop / height) - overscan)
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / height) + overscan)
    this.#spacer.style.height = `${this.#items.length * height}px`
    this.element.style.setProperty('--rows', `${this.#items.length * height + 2}px`)
    const rows = new Map()
    for (const [offset, item] of this.#items.slice(first, last).entries())
      rows.set(first + offset, this.#rows.get(first + offset) ?? this.#build(first + offset, item))
    this.element.removeAttribute('aria-activedescendant')
    for (const [index, row] of rows) this.#place(row, index, height)
    this.#rows = rows
    this.#spacer.replaceChildren(...rows.values())
  }

  close() {
    this.#measure.disconnect()
  }

  /** @param {number} index @param {T} item */
  #build(index, item) {
    const row = this.#options.row(item)
    row.id = `row-${index}`
    row.dataset['index'] = String(index)
    row.setAttribute('role', 'option')
    row.setAttribute('aria-setsize', String(this.#items.length))
    row.setAttribute('aria-posinset', String(index + 1))
    return row
  }

  /** @param {HTMLElement} row @param {number} index @param {number} height */
  #place(row, index, height) {
    const isActive = index === this.#active
    row.style.transform = `translateY(${index * height}px)`
    row.style.height = `${height}px`
    row.setAttribute('aria-selected', String(isActive))
    if (isActive) this.element.setAttribute('aria-activedescendant', row.id)
  }

  #rowHeight() {
    return Number.parseFloat(getComputedStyle(this.element).getPropertyValue('--row-height')) || 56
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight()) - 1)
    const step = { PageDown: page, PageUp: -page }[event.key] ?? steps.get(event.key)
    if (event.key !== 'Enter' && step === undefined) return
    // Otherwise the same key press would also press the button that gets the focus.
    event.preventDefault()
    const item = this.#items[this.#active]
    if (event.key === 'Enter') return item && this.#options.onOpen(item)
    this.#active = Math.max(0, Math.min(this.#items.length - 1, this.#active + (step ?? 0)))
    this.#reveal()
  }

  #reveal() {
    const height = this.#rowHeight()
    const top = this.#active * height
    const { scrollTop, clientHeight } = this.element
    if (top < scrollTop) this.element.scrollTop = top
    else if (top + height > scrollTop + clientHeight) this.element.scrollTop = top + height - clientHeight
    this.draw()
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : undefined
    if (!(row instanceof HTMLElement)) return
    this.#active = Number(row.dataset['index'])
    this.draw()
    const item = this.#items[this.#active]
    if (item) this.#options.onOpen(item)
  }
}
