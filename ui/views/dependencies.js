/** @import { Preview as Given, PreviewNode } from '../../src/systems/collector/preview/preview.ts' */
/** @import { Ref, View } from '../types.d.ts' */
import { ask, messageIn } from '../api.js'
import { openPanel } from '../dialogs.js'
import { factList, fill, h, pill } from '../dom.js'
import { drawGraph } from '../graph.js'
import { unlessBusy } from '../look-ahead.js'

/** @typedef {Omit<Given, 'nodes'> & { nodes: readonly PreviewNode[], total: number, leaving: number }} Preview As it is written: the first nodes, and how many there are. */
/** @typedef {{ path: string, plural: string, words: string[], namespaced: boolean }} Served */

const policies = ['Background', 'Foreground', 'Orphan']
const maxDrawn = 300
/** @type {Record<PreviewNode['action'], [string, string]>} */
const actions = {
  delete: ['deleted', 'bad'],
  orphan: ['kept, orphaned', 'warn'],
  'drop-reference': ['kept, has another owner', 'good'],
  keep: ['kept, protected', 'good'],
  refuse: ['kept, deletion is refused', 'good'],
  hold: ['waits for a Bond', 'warn'],
}

/** @type {Record<PreviewNode['because'], string>} */
const reasons = {
  root: 'it is the object you chose',
  'owners-gone': 'its owners are deleted',
  'owner-remains': 'another owner is kept',
  'owner-unknown': 'another owner cannot be read',
  protected: 'something protects it',
  denied: 'a Bond, or a protected object in it, refuses the deletion',
  orphaned: 'its owner is deleted with the policy Orphan',
  'requirement-gone': 'a Bond makes it depend on an object that is deleted',
  'container-gone': 'its namespace is deleted',
  held: 'other objects are deleted first',
}

/** Shows what would be deleted with an object, in a panel. @param {Ref} object */
export function openCascade(object) {
  const panel = openPanel(`If ${object.name} is deleted`, cascadeOf(object))
  panel.classList.add('wide')
}

/** Looks up any object. @returns {View} */
export function dependenciesView() {
  const kind = h('input', { list: 'cascade-kinds', required: true, placeholder: 'deployments.apps' })
  const namespace = h('input', { placeholder: 'none for cluster-scoped kinds' })
  const name = h('input', { required: true })
  const known = h('datalist', { id: 'cascade-kinds' })
  const result = h('div', { role: 'region', 'aria-label': 'Cascade preview' })
  const resources = resourcePaths()
  void resources.then((paths) => fill(known, ...[...paths.keys()].map((value) => h('option', { value }))))
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    fill(result, h('p.empty', {}, 'Loading…'))
    try {
      const found = await lookUp(await resources, kind.value.trim(), namespace.value.trim(), name.value.trim())
      const { apiVersion, kind: word, metadata } = found
      const { namespace: place, name: own, uid } = metadata
      fill(result, cascadeOf({ apiVersion, kind: word, namespace: place, name: own, uid }))
    } catch (error) {
      fill(result, h('p.problem', { role: 'alert' }, messageIn(error)))
    }
  }
  return {
    element: h(
      'section.page',
      { 'aria-label': 'Dependencies' },
      h('h1', {}, 'Dependencies'),
      h(
        'p.lead',
        {},
        'Preview a deletion: choose an object to see what would be deleted with it, what would be kept, and what would refuse. Nothing is changed.',
      ),
      h(
        'form.lookup.card',
        { onsubmit: submit },
        field('Kind', kind),
        field('Namespace', namespace),
        field('Name', name),
        h('button.primary', { type: 'submit' }, 'Preview'),
        known,
      ),
      result,
    ),
    show() {},
    concerns: () => false,
    close() {},
  }
}

/** @param {string} label @param {HTMLElement} input */
function field(label, input) {
  return h('label.field', {}, h('span', {}, label), input)
}

/** Where each kind is served, by `plural.group`. @returns {Promise<Map<string, Served>>} */
async function resourcePaths() {
  const { groups = [] } = await ask('/apis')
  const versions = [
    '/api/v1',
    ...groups.map((/** @type {any} */ { preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ]
  const answers = await Promise.all(versions.map((path) => ask(path).catch(() => ({ resources: [] }))))
  const paths = new Map()
  for (const [index, { resources }] of answers.entries())
    for (const { name, singularName, kind, shortNames = [], namespaced, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('delete')) continue
      const group = versions[index].split('/')[2]
      const words = [name, singularName, kind, ...shortNames].map((word) => word.toLowerCase())
      paths.set(index === 0 ? name : `${name}.${group}`, { path: versions[index], plural: name, words, namespaced })
    }
  return paths
}

/** @param {Map<string, Served>} paths @param {string} word @param {string} namespace @param {string} name */
async function lookUp(paths, word, namespace, name) {
  const lower = word.trim().toLowerCase()
  const found = paths.get(lower) ?? [...paths.values()].find(({ words }) => words.includes(lower))
  if (!found) throw new Error(`There is no kind “${word}” that can be deleted; choose one from the list.`)
  if (found.namespaced && !namespace) throw new Error(`${word} are namespaced; enter a namespace.`)
  const place = found.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return ask(`${found.path}${place}/${found.plural}/${encodeURIComponent(name)}`)
}

/** @param {Ref} object */
function cascadeOf({ apiVersion, kind, namespace, name, uid }) {
  const object = { apiVersion, kind, namespace, name, uid }
  const picture = h('div', { 'aria-live': 'polite' })
  let asking = new AbortController()
  const load = async (/** @type {string} */ policy) => {
    // The answer to an earlier choice is not wanted any more.
    asking.abort()
    const { signal } = (asking = new AbortController())
    fill(picture, h('p.empty', {}, 'Loading…'))
    const request = { method: 'POST', body: { object, policy }, signal }
    try {
      fill(picture, ...pictureOf(await unlessBusy(() => ask('/sojourn/v1alpha1/cascade-preview', request), signal)))
    } catch (error) {
      if (!signal.aborted) fill(picture, h('p.problem', { role: 'alert' }, messageIn(error)))
    }
  }
  void load(policies[0] ?? '')
  const choose = h('select', {}, ...policies.map((value) => h('option', { value }, value)))
  choose.addEventListener('change', () => void load(choose.value))
  return h('div.cascade', {}, h('label.field.inline', {}, h('span', {}, 'Propagation policy'), choose), picture)
}

/** @param {Preview} preview */
function pictureOf({ nodes, complete, unknownKinds, total, leaving }) {
  const drawn = nodes.slice(0, maxDrawn)
  const about = h('div.about', { role: 'status' })
  const select = (/** @type {string} */ id) => {
    const node = drawn.find(({ uid }) => uid === id)
    if (node) fill(about, aboutNode(node, nodes))
  }
  const [root] = nodes
  if (root && root.action !== 'delete') fill(about, aboutNode(root, nodes))
  const label = `What is deleted with ${root?.ref.kind} ${root?.ref.name}`
  return [
    h('p.told', {}, summaryOf(nodes[0], total, leaving), legend(drawn)),
    !complete &&
      h(
        'p.problem',
        {},
        `Incomplete: you may not list, or the cluster does not answer for, ${unknownKinds.join(', ')}.`,
      ),
    drawing(drawGraph(drawn.map(graphNode), { label, onSelect: select })),
    total > maxDrawn && h('p', {}, `Showing the first ${maxDrawn} objects; ${total - maxDrawn} more are not drawn.`),
    about,
    h(
      'details',
      {},
      h('summary', {}, 'As a list'),
      branch(
        '',
        Map.groupBy(drawn, ({ through }) => through ?? ''),
      ),
    ),
  ]
}

/** A scrollable frame around the graph, centred on the chosen object. @param {SVGSVGElement} picture */
function drawing(picture) {
  const frame = h('div.drawing', { tabIndex: 0, role: 'group', 'aria-label': 'Cascade graph' }, picture)
  requestAnimationFrame(() => {
    const root = picture.querySelector('.box.root')?.getBoundingClientRect()
    if (root) frame.scrollTop = root.top - frame.getBoundingClientRect().top - frame.clientHeight / 2
  })
  return frame
}

/** The legend of the colours in use. @param {readonly PreviewNode[]} nodes */
function legend(nodes) {
  const there = new Set(nodes.map(({ action }) => action))
  return h('span.pills', {}, ...[...there].map((action) => pill(...actions[action])))
}

/** @param {PreviewNode | undefined} root @param {number} total @param {number} leaving */
function summaryOf(root, total, leaving) {
  if (!root) return ''
  const isLeaving = root.action === 'delete'
  const staying = total - leaving - (isLeaving ? 0 : 1)
  const itself = isLeaving ? '' : `${root.ref.name} ${actions[root.action][0]}. `
  const left =
    leaving === 0 ? 'Nothing is deleted' : `${leaving} ${leaving === 1 ? 'object is deleted' : 'objects are deleted'}`
  const rest = `${staying} related ${staying === 1 ? 'object is' : 'objects are'} kept`
  if (staying > 0) return `${itself}${left}, ${rest}.`
  return leaving > 0 ? `${itself}${left}, nothing else is affected.` : `${itself}${left}.`
}

/** @param {PreviewNode} node */
function graphNode({ uid, ref, action, through, owners }) {
  const [note, tone] = actions[action]
  const kind = `${ref.kind}${ref.namespace ? ` · ${ref.namespace}` : ''}`
  const also = owners?.map((owner) => owner.uid).filter((owner) => owner !== through)
  return { id: uid, through, also, kind, name: ref.name, note, tone }
}

/** @param {PreviewNode} node @param {readonly PreviewNode[]} nodes */
function aboutNode({ ref, action, because, through, owners = [], waitsFor }, nodes) {
  const [note, tone] = actions[action]
  const owner = nodes.find(({ uid }) => uid === through)
  /** @type {[string, import('../types.d.ts').Child][]} */
  const facts = [
    ['Kind', `${ref.kind} (${ref.apiVersion})`],
    ['Namespace', ref.namespace ?? 'none'],
    ['What happens', pill(note, tone)],
    ['Why', reasons[because]],
  ]
  if (owner) facts.push(['Reached through', `${owner.ref.kind} ${owner.ref.name}`])
  if (owners.length > 0) facts.push(['Owned by', owners.map(({ kind, name }) => `${kind} ${name}`).join(', ')])
  if (waitsFor.length > 0) facts.push([action === 'refuse' ? 'Because of' : 'Waits for', waitsFor.join(', ')])
  return h('article.card', { 'aria-label': `${ref.kind} ${ref.name}` }, h('h2', {}, ref.name), factList(facts))
}

/** @param {string} through @param {Map<string, PreviewNode[]>} children */
function branch(through, children) {
  const nodes = children.get(through) ?? []
  return h('ul.tree', {}, ...nodes.map((node) => leaf(node, children)))
}

/** @param {PreviewNode} node @param {Map<string, PreviewNode[]>} children @returns {HTMLLIElement} */
function leaf({ uid, ref, action, waitsFor }, children) {
  const [text, tone] = actions[action]
  return h(
    'li',
    {},
    h(
      'span.node',
      {},
      h('small', {}, ref.kind),
      h('strong', {}, ref.name),
      ref.namespace && h('small', {}, ref.namespace),
      pill(text, tone),
    ),
    waitsFor.length > 0 && h('small', {}, `${action === 'refuse' ? 'because of' : 'waits for'} ${waitsFor.join(', ')}`),
    children.has(uid) && branch(uid, children),
  )
}
