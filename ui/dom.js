/** @import { Attribute, Child, ElementOf } from './types.d.ts' */
import { exactMoment, timeText } from './time.js'

/**
 * Builds an element. Children become text nodes unless they are nodes already, so nothing from the API is ever read as markup.
 * @template {string} Tag
 * @param {Tag} tag `div`, `button.primary`
 * @param {Record<string, unknown>} [properties] `on…` are listeners, `aria-…`, `data-…` and `role` attributes, the rest properties
 * @param {...(Child | Child[])} children
 * @returns {ElementOf<Tag>}
 */
export function h(tag, properties = {}, ...children) {
  const [name = '', ...classes] = tag.split('.')
  const element = document.createElement(name)
  if (classes.length > 0) element.className = classes.join(' ')
  for (const [key, value] of Object.entries(properties)) setProperty(element, key, value)
  element.append(...children.flat().filter(isShown).map(textOrNode))
  return /** @type {ElementOf<Tag>} */ (element)
}

/**
 * Builds a part of a drawing; all properties are attributes, but for listeners.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute | Function>} attributes
 * @param {...Child} children
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (typeof value === 'function') listen(element, key, value)
    else element.setAttribute(key, `${value}`)
  }
  element.append(...children.filter(isShown).map(textOrNode))
  return element
}

/** @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter(isShown).map(textOrNode))
}

/** @param {HTMLElement} element @param {string} key @param {unknown} value */
function setProperty(element, key, value) {
  if (value === undefined || value === false) return
  if (typeof value === 'function') listen(element, key, value)
  else if (/^(aria-|data-|role$|for$|list$)/.test(key)) element.setAttribute(key, `${/** @type {Attribute} */ (value)}`)
  else Object.assign(element, { [key]: value })
}

/** @param {Element} element @param {string} key `onclick` @param {Function} listener */
function listen(element, key, listener) {
  element.addEventListener(key.slice(2), /** @type {EventListener} */ (listener))
}

/** @param {Child} child @returns {child is Node | string | number} */
function isShown(child) {
  return child !== undefined && child !== null && child !== false
}

/** Characters that turn the direction of what follows: with them a name could read as another one. */
const turns = /[\u202a-\u202e\u2066-\u2069]/g

/** @param {Node | string | number} child */
function textOrNode(child) {
  return child instanceof Node ? child : String(child).replace(turns, '\ufffd')
}

/** Only web addresses become links: a `javascript:` one from the API stays text. @param {string | undefined} url @param {string} text */
export function link(url, text) {
  if (!url || !/^https?:\/\//i.test(url)) return h('span', {}, text)
  return h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, text)
}

/** A word in a coloured pill, a state of the API in words. @param {string} text */
export function pill(text, tone = 'plain') {
  return h(`span.pill.${tone}`, {}, stateWords(text))
}

/** A state as people read it: `Awaiting approval` for `AwaitingApproval`. @param {string} state */
export function stateWords(state) {
  return state.replaceAll(/(?<=[a-z])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** A time as a text, with the exact instant on hover. @param {number} at @param {string} text */
export function timeOf(at, text) {
  return h('time', { dateTime: timeText(at), title: exactMoment(at) }, text)
}

/** A definition list. @param {readonly (readonly [string, Child])[]} facts */
export function factList(facts) {
  return h('dl.facts', {}, ...facts.flatMap(([term, said]) => [h('dt', {}, term), h('dd', {}, said)]))
}
