/**
 * Builds an element. Children become text nodes unless they are nodes already, so nothing from the API is ever read as markup.
 * @param {string} tag `div`, `button.primary`
 * @param {Record<string, unknown>} [properties] `on…` are listeners, `aria-…`, `data-…` and `role` attributes, the rest properties
 * @param {...(Node | string | number | false | null | undefined | (Node | string | false | undefined)[])} children
 * @returns {any}
 */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.')
  const element = document.createElement(name)
  if (classes.length > 0) element.className = classes.join(' ')
  for (const [key, value] of Object.entries(properties)) setProperty(element, key, value)
  element.append(...children.flat().filter(isShown).map(textOrNode))
  return element
}

/** @param {Element} element @param {...(Node | string)} children */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter(isShown).map(textOrNode))
}

function setProperty(element, key, value) {
  if (value === undefined || value === false) return
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
  else if (/^(aria-|data-|role$|for$|list$)/.test(key)) element.setAttribute(key, String(value))
  else element[key] = value
}

function isShown(child) {
  return child !== undefined && child !== null && child !== false
}

function textOrNode(child) {
  return child instanceof Node ? child : String(child)
}

/** Only web addresses become links: a `javascript:` one from the API stays text. */
export function link(url, text) {
  if (!/^https?:\/\//i.test(url ?? '')) return h('span', {}, text)
  return h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, text)
}

/** A word in a coloured pill. */
export function pill(text, tone = 'plain') {
  return h(`span.pill.${tone}`, {}, text)
}
