import { h } from './dom.js'

const overscan = 6

/**
 * A list of any length of which only the rows in sight exist. Arrow keys, Home, End and Page keys move; Enter opens.
 * @template T
 */
export class VirtualList {
  #items = []
  #active = 0
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
        onkeydown: (event) => this.#onKey(event),
        onclick: (event) => this.#onClick(event),
      },
      this.#spacer,
    )
    this.#measure.observe(this.element)
  }

  /** @param {T[]} items */
  show(items) {
    this.#items = items
    this.#active = Math.min(this.#active, Math.max(0, items.length - 1))
    this.#rows.clear()
    this.draw()
  }

  draw() {
    const height = this.#rowHeight()
    const { scrollTop, clientHeight } = this.element
    const first = Math.max(0, Math.floor(scrollTop / height) - overscan)
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / height) + overscan)
    this.#spacer.style.height = `${this.#items.length * height}px`
    const rows = new Map()
    for (let index = first; index < last; index++) rows.set(index, this.#rows.get(index) ?? this.#build(index))
    for (const [index, row] of rows) this.#place(row, index, height)
    this.#rows = rows
    this.#spacer.replaceChildren(...rows.values())
  }

  close() {
    this.#measure.disconnect()
  }

  #build(index) {
    const row = this.#options.row(this.#items[index])
    row.id = `row-${index}`
    row.dataset.index = String(index)
    row.setAttribute('role', 'option')
    row.setAttribute('aria-setsize', String(this.#items.length))
    row.setAttribute('aria-posinset', String(index + 1))
    return row
  }

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

  #onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight()) - 1)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    if (event.key !== 'Enter' && !(event.key in steps)) return
    // Else the same key press would go on to the button that gets the focus.
    event.preventDefault()
    const item = this.#items[this.#active]
    if (event.key === 'Enter') return item && this.#options.onOpen(item)
    this.#active = Math.max(0, Math.min(this.#items.length - 1, this.#active + steps[event.key]))
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

  #onClick(event) {
    const row = event.target.closest('[data-index]')
    if (!row) return
    this.#active = Number(row.dataset.index)
    this.draw()
    this.#options.onOpen(this.#items[this.#active])
  }
}
