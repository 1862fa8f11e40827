import { fill, h } from './dom.js'

const overscan = 1

/**
 * A grid of any number of cards of which only the visible rows are in the DOM. A row that was never drawn counts with the average height.
 * @template T
 */
export class CardGrid {
  /** @type {readonly T[]} */
  #items = []
  #columns = 1
  /** Height of each row, gap included; 0 until it has been seen. */
  #heights = new Float64Array(0)
  #averageHeight = 280
  /** @type {[number, number]} The rows that exist: from, to. */
  #shown = [0, 0]
  #options
  #scroller
  #measure = new ResizeObserver(() => this.draw())
  #onScroll = () => {
    if (!this.#isInSight()) this.draw()
  }

  /** @param {{ card: (item: T) => HTMLElement, keyOf: (item: T) => string, scroller: HTMLElement }} options */
  constructor({ card, keyOf, scroller }) {
    this.#options = { card, keyOf }
    this.#scroller = scroller
    this.element = h('div.cards')
    this.#measure.observe(this.element)
    scroller.addEventListener('scroll', this.#onScroll, { passive: true })
  }

  /** @param {readonly T[]} items */
  show(items) {
    this.#items = items
    this.draw()
  }

  close() {
    this.#measure.disconnect()
    this.#scroller.removeEventListener('scroll', this.#onScroll)
  }

  /** Rebuilds the visible rows. The focus stays on the same object, wherever it moves, so that a key press never hits another one. */
  draw() {
    const { element } = this
    if (!element.isConnected) return
    this.#fit()
    const focused = this.#focusedControl()
    const [first, last] = this.#rowsInSight()
    const cards = this.#items.slice(first * this.#columns, last * this.#columns).map((item) => {
      const card = this.#options.card(item)
      card.dataset['key'] = this.#options.keyOf(item)
      return card
    })
    fill(element, ...cards)
    this.#shown = [first, last]
    this.#learnHeights(cards, first)
    element.style.paddingBlockStart = `${this.#sum(0, first)}px`
    element.style.paddingBlockEnd = `${this.#sum(last, this.#heights.length)}px`
    this.#focus(focused)
  }

  /** Reads the number of columns from the style, and computes the number of rows. */
  #fit() {
    const columns = getComputedStyle(this.element).gridTemplateColumns.split(' ').filter(Boolean).length || 1
    const rows = Math.ceil(this.#items.length / columns)
    if (columns !== this.#columns) this.#heights = new Float64Array(0)
    this.#columns = columns
    if (rows === this.#heights.length) return
    const heights = new Float64Array(rows)
    heights.set(this.#heights.subarray(0, rows))
    this.#heights = heights
  }

  /** @returns {[number, number]} */
  #rowsInSight() {
    const [top, bottom] = this.#sight()
    let first = 0
    let at = 0
    while (first < this.#heights.length && at + this.#heightOf(first) < top) at += this.#heightOf(first++)
    let last = first
    while (last < this.#heights.length && at < bottom) at += this.#heightOf(last++)
    return [Math.max(0, first - overscan), Math.min(this.#heights.length, last + overscan)]
  }

  /** The visible part of the grid: top and bottom, relative to the grid's top. */
  #sight() {
    const top = this.#scroller.getBoundingClientRect().top - this.element.getBoundingClientRect().top
    return /** @type {const} */ ([top, top + this.#scroller.clientHeight])
  }

  #isInSight() {
    const [first, last] = this.#rowsInSight()
    const [shownFirst, shownLast] = this.#shown
    return first >= shownFirst && last <= shownLast
  }

  /** @param {readonly HTMLElement[]} cards @param {number} first */
  #learnHeights(cards, first) {
    const gap = Number.parseFloat(getComputedStyle(this.element).rowGap) || 0
    for (let index = 0; index < cards.length; index += this.#columns)
      this.#heights[first + index / this.#columns] = (cards[index]?.offsetHeight ?? 0) + gap
    const seen = this.#heights.filter((height) => height > 0)
    if (seen.length > 0) this.#averageHeight = seen.reduce((sum, height) => sum + height, 0) / seen.length
  }

  /** @param {number} row */
  #heightOf(row) {
    return this.#heights[row] || this.#averageHeight
  }

  /** @param {number} from @param {number} to */
  #sum(from, to) {
    let sum = 0
    for (let row = from; row < to; row++) sum += this.#heightOf(row)
    return sum
  }

  /** @returns {{ key: string, index: number } | undefined} */
  #focusedControl() {
    const focused = document.activeElement
    const card = focused?.closest('[data-key]')
    if (!(card instanceof HTMLElement) || !this.element.contains(card)) return undefined
    const index = [...card.querySelectorAll('button, a')].indexOf(/** @type {Element} */ (focused))
    return { key: card.dataset['key'] ?? '', index }
  }

  /** Returns the focus to the control, or to the page if the control is gone. @param {{ key: string, index: number } | undefined} focused */
  #focus(focused) {
    if (!focused) return
    const controls = this.element.querySelectorAll(`[data-key="${CSS.escape(focused.key)}"] :is(button, a)`)
    const control = controls[focused.index] ?? this.#scroller
    if (control instanceof HTMLElement) control.focus({ preventScroll: true })
  }
}
