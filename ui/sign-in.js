import { messageIn, session } from './api.js'
import { fill, h } from './dom.js'

/** Asks for a token, which the page exchanges for a session. @param {string | undefined} problem @param {() => void} onSignIn */
export function signInPage(problem, onSignIn) {
  const token = h('input', {
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': 'token-hint',
  })
  const said = h('p.problem', { role: 'alert' }, problem ?? '')
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    session.signIn({ token: token.value.trim() }).then(onSignIn, (error) => fill(said, messageIn(error)))
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
      'You find one in your kubeconfig. Scripts of this page cannot read it after you signed in. On your own machine, “sojourn dashboard” signs you in without one.',
    ),
    said,
    h('button.primary', { type: 'submit' }, 'Sign in'),
  )
  queueMicrotask(() => token.focus())
  return form
}
