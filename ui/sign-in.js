import { ask, messageIn, session } from './api.js'
import { fill, h } from './dom.js'

/** Where the user wanted to go, kept while they are at the provider. */
const placeKey = 'sojourn-place'

/** The page that the user asked for before signing in. @returns {string} */
export function takePlace() {
  const place = sessionStorage.getItem(placeKey) ?? ''
  sessionStorage.removeItem(placeKey)
  return place
}

/**
 * Offers the ways to sign in that the server has: its OpenID Connect provider, and a token.
 * @param {string | undefined} problem
 * @param {() => void} onSignIn
 */
export function signInPage(problem, onSignIn) {
  const said = h('p.problem', { role: 'alert' }, problem ?? '')
  const ways = h('div.ways', {}, tokenForm(said, onSignIn))
  const page = h(
    'main.sign-in.card',
    {},
    h('img', { src: '/ui/icon.svg', alt: '', width: 56, height: 56 }),
    h('h1', {}, 'Sojourn'),
    ways,
    said,
  )
  const offer = (
    /** @type {{ provider?: string, user?: string, problem?: string }} */ { provider, user, problem: why },
  ) => {
    if (why) fill(said, why)
    if (user) return offerProxy(user)
    if (!provider) return
    const enter = () => sessionStorage.setItem(placeKey, location.hash)
    const first = h('a.button.primary', { href: '/auth/login', onclick: enter }, `Sign in with ${provider}`)
    fill(ways, first, h('details', {}, h('summary', {}, 'Use a token'), tokenForm(said, onSignIn)))
    first.focus()
  }
  /** The proxy in front has signed the user in already. @param {string} user */
  const offerProxy = (user) => {
    const enter = () => void session.signIn('proxy', {}).then(onSignIn, (error) => fill(said, messageIn(error)))
    if (problem === undefined) return enter()
    const first = h('button.primary', { type: 'button', onclick: enter }, `Sign in as ${user}`)
    fill(ways, first)
    first.focus()
  }
  ask('/auth/methods').then(offer, () => undefined)
  return page
}

/** @param {HTMLElement} said @param {() => void} onSignIn */
function tokenForm(said, onSignIn) {
  const token = h('input', {
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': 'token-hint',
  })
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    session.signIn('token', { token: token.value.trim() }).then(onSignIn, (error) => fill(said, messageIn(error)))
  }
  queueMicrotask(() => token.focus())
  return h(
    'form',
    { onsubmit: submit },
    h('p', {}, 'Sign in with a bearer token of this cluster.'),
    h('label.field', {}, h('span', {}, 'Token'), token),
    h(
      'small',
      { id: 'token-hint' },
      'For example: kubectl create token NAME -n NAMESPACE. Scripts of this page cannot read it after you signed in. With “sojourn up” on your own machine, “sojourn dashboard” signs you in without one.',
    ),
    h('button.primary', { type: 'submit' }, 'Sign in'),
  )
}
