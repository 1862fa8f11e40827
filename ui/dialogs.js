/** @import { Child } from './types.d.ts' */
import { messageIn } from './api.js'
import { fill, h } from './dom.js'

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
 * @param {{ title: string, text: string, action: string, tone?: string, reason?: string, run: (reason: string) => Promise<string> }} options
 */
export function confirm({ title, text, action, tone = 'primary', reason, run }) {
  const input = h('input', { type: 'text', maxLength: 256, placeholder: 'Optional' })
  const problem = h('p.problem', { role: 'alert' })
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
      reason && h('label.field', {}, h('span', {}, reason), input),
      problem,
      h('div.actions', {}, cancel, button),
    ),
  )
  // Pressing Enter twice must not delete anything.
  if (tone === 'danger') cancel.focus()
  else button.focus()
}
