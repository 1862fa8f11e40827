import { session } from './api.js'
import { h } from './dom.js'

/** Asks for a token, which is kept in this tab only. @param {string | undefined} problem @param {() => void} onSignIn */
export function signInPage(problem, onSignIn) {
  const token = h('input', {
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': 'token-hint',
  })
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    session.signIn(token.value.trim())
    onSignIn()
  }
  const form = h(
    'form.sign-in.card',
    { onsubmit: submit },
    h('img', { src: '/ui/icon.svg', alt: '', width: 56, height: 56 }),
    h('h1', {}, 'Sojourn'),
    h('p', {}, 'Sign in with a bearer token of this server.'),
    h('label.field', {}, h('span', {}, 'Token'), token),
    h(
      'small',
      { id: 'token-hint' },
      'You find one in the kubeconfig, or in pki/tokens.csv of the data directory. It is kept in this tab only.',
    ),
    problem && h('p.problem', { role: 'alert' }, problem),
    h('button.primary', { type: 'submit' }, 'Sign in'),
  )
  queueMicrotask(() => token.focus())
  return form
}
