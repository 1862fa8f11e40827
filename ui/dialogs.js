/** @import { Child } from './types.d.ts' */
import { messageIn } from './api.js'
import { fill, h, timeOf } from './dom.js'
import { lookAhead, words } from './look-ahead.js'
import { formatMoment } from './time.js'

/** Shows a notice for six seconds; errors until they are dismissed. @param {string} text */
export function notify(text, tone = 'good') {
  const notices = document.getElementById('notices')
  const close = () => notice.remove()
  const notice = h(
    `div.notice.${tone}`,
    { role: tone === 'bad' ? 'alert' : undefined },
    h('span', {}, text),
    h('button.plain', { type: 'button', 'aria-label': 'Dismiss', onclick: close }, '×'),
  )
  notices?.append(notice)
  if (tone !== 'bad') setTimeout(close, 6000)
}

/**
 * Opens a panel over the page. Escape, its button and a click outside close it.
 * @param {string} title
 * @param {...Child} content
 * @returns {HTMLDialogElement}
 */
export function openPanel(title, ...content) {
  const dialog = h(
    'dialog.panel',
    { 'aria-label': title, onclose: () => dialog.remove() },
    h(
      'header',
      {},
      h('h2', {}, title),
      h('button.plain', { type: 'button', 'aria-label': 'Close', onclick: () => dialog.close() }, '×'),
    ),
    ...content,
  )
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/**
 * Asks for confirmation, runs the action and reports the result.
 * @param {{ title: string, text: string, action: string, tone?: string, reason?: string, hint?: string, about?: Child | Promise<Child>, whatIf?: WhatIf, run: (reason: string) => Promise<string> }} options
 * `about` says more of what will happen, when it is known; `whatIf` lets the user ask for a forecast of it
 */
export function confirm({ title, text, action, tone = 'primary', reason, hint = 'Optional', about, whatIf, run }) {
  const input = h('input', { type: 'text', maxLength: 256, placeholder: hint, autocomplete: 'off' })
  const problem = h('p.problem', { role: 'alert' })
  const more = h('div', { role: 'status' })
  Promise.resolve(about).then(
    (known) => fill(more, known),
    (error) => fill(more, h('p.problem', {}, messageIn(error))),
  )
  const button = h(`button.${tone}`, { type: 'submit' }, action)
  const cancel = h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    button.disabled = true
    try {
      const done = await run(input.value.trim())
      dialog.close()
      notify(done)
    } catch (error) {
      fill(problem, messageIn(error))
      button.disabled = false
    }
  }
  const dialog = openPanel(
    title,
    h(
      'form',
      { onsubmit: submit },
      h('p', {}, text),
      more,
      whatIf && forecastOf(whatIf),
      reason && h('label.field', {}, h('span', {}, reason), input),
      problem,
      h('div.actions', {}, cancel, button),
    ),
  )
  // Pressing Enter twice must not delete anything.
  if (tone === 'danger') cancel.focus()
  else button.focus()
}

/** @typedef {{ namespace?: string, assume?: string[], apply?: object[] }} WhatIf what a forecast takes for done; only events of the namespace are shown */

const shownEvents = 8

/** A forecast of what follows a change, made when the user opens it. @param {WhatIf} whatIf */
function forecastOf({ namespace, ...assumed }) {
  const answer = h('div', { role: 'status' })
  const isHere = (/** @type {{ object: { kind: string, namespace?: string, name: string } }} */ { object }) =>
    namespace === undefined ||
    (object.kind === 'Namespace' ? object.name === namespace : object.namespace === namespace)
  const load = async () => {
    const leaving = new AbortController()
    fill(answer, h('small', {}, 'Forecasting: the real controllers run on a copy of the cluster…'))
    const { events, unread } = await lookAhead({ for: '7d', ...assumed }, leaving.signal)
    const following = events.filter((event) => event.what !== 'assumed' && isHere(event))
    fill(
      answer,
      following.length === 0 &&
        h('p', {}, `${unread.length > 0 ? 'Nothing else is known' : 'Nothing else happens'} in the next 7 days.`),
      unread.length > 0 &&
        h('p.problem', {}, `Incomplete: you may not read ${unread.length} kinds in all namespaces. More may follow.`),
      h(
        'ul.events',
        {},
        ...following.slice(0, shownEvents).map(({ at, what, object, why }) => {
          return h('li', {}, timeOf(at, formatMoment(at)), ` ${object.kind} ${object.name}: ${words[what][0]}, ${why}`)
        }),
      ),
      following.length > shownEvents && h('small', {}, `and ${following.length - shownEvents} more`),
    )
  }
  const details = h(
    'details.what-if',
    {
      ontoggle: () => details.open && load().catch((error) => fill(answer, h('p.problem', {}, messageIn(error)))),
    },
    h('summary', {}, 'Forecast: what follows in the next 7 days'),
    answer,
  )
  return details
}
