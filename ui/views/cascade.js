import { ask } from '../api.js'
import { fill, h, pill } from '../dom.js'
import { openPanel } from '../dialogs.js'

const policies = ['Background', 'Foreground', 'Orphan']
const most = 500
const actions = {
  delete: ['leaves', 'bad'],
  orphan: ['stays, orphaned', 'warn'],
  'drop-reference': ['stays, another owner keeps it', 'good'],
  keep: ['stays, protected', 'good'],
  refuse: ['stays, deletion is refused', 'good'],
}

/** Shows what would leave with an object, in a panel. */
export function openCascade(object) {
  openPanel(`If ${object.name} left`, cascadeOf(object.uid))
}

/** The view in which any object can be looked up. */
export function cascadeView() {
  const kind = h('input', { list: 'cascade-kinds', required: true, placeholder: 'deployments.apps' })
  const namespace = h('input', { placeholder: 'none, for cluster-wide kinds' })
  const name = h('input', { required: true })
  const known = h('datalist', { id: 'cascade-kinds' })
  const result = h('div', { role: 'region', 'aria-label': 'Cascade preview' })
  const resources = resourcePaths()
  void resources.then((paths) => fill(known, ...[...paths.keys()].map((value) => h('option', { value }))))
  const submit = async (event) => {
    event.preventDefault()
    fill(result, h('p.empty', {}, 'Looking…'))
    try {
      const found = await lookUp(await resources, kind.value.trim(), namespace.value.trim(), name.value.trim())
      fill(result, cascadeOf(found.metadata.uid))
    } catch (error) {
      fill(result, h('p.problem', { role: 'alert' }, error.message))
    }
  }
  return {
    element: h(
      'section.page',
      {},
      h('h1', {}, 'Cascade'),
      h('p.lead', {}, 'What would leave with an object, by the collector’s own rules. Nothing is changed.'),
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

function field(label, input) {
  return h('label.field', {}, h('span', {}, label), input)
}

/** Where each kind is served, by `plural.group`. */
async function resourcePaths() {
  const { groups = [] } = await ask('/apis')
  const versions = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)]
  const answers = await Promise.all(versions.map((path) => ask(path).catch(() => ({ resources: [] }))))
  const paths = new Map()
  for (const [index, { resources }] of answers.entries())
    for (const { name, namespaced, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('delete')) continue
      const group = versions[index].split('/')[2]
      paths.set(index === 0 ? name : `${name}.${group}`, { path: versions[index], plural: name, namespaced })
    }
  return paths
}

async function lookUp(paths, word, namespace, name) {
  const found = paths.get(word) ?? [...paths.values()].find(({ plural }) => plural === word)
  if (!found) throw new Error(`No kind “${word}” can be deleted here; choose one of the list.`)
  if (found.namespaced && !namespace) throw new Error(`${word} live in a namespace; name it.`)
  const place = found.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return ask(`${found.path}${place}/${found.plural}/${encodeURIComponent(name)}`)
}

function cascadeOf(uid) {
  const tree = h('div')
  const load = async (policy) => {
    fill(tree, h('p.empty', {}, 'Looking…'))
    try {
      const body = { uid, policy }
      fill(tree, treeOf(await ask('/sojourn/v1alpha1/cascade-preview', { method: 'POST', body })))
    } catch (error) {
      fill(tree, h('p.problem', { role: 'alert' }, error.message))
    }
  }
  void load(policies[0])
  return h(
    'div.cascade',
    {},
    h(
      'label.field.inline',
      {},
      h('span', {}, 'Deleted in'),
      h(
        'select',
        { onchange: (event) => void load(event.target.value) },
        ...policies.map((value) => h('option', { value }, value)),
      ),
    ),
    tree,
  )
}

function treeOf({ nodes, complete, unknownKinds }) {
  const children = Map.groupBy(nodes.slice(0, most), ({ through }) => through ?? '')
  const leaving = nodes.filter(({ action }) => action === 'delete').length
  return h(
    'div',
    {},
    h(
      'p',
      {},
      `${leaving} ${leaving === 1 ? 'object leaves' : 'objects leave'}, ${nodes.length - leaving} of those it touches stay.`,
    ),
    !complete && h('p.problem', {}, `Not everything could be read: ${unknownKinds.join(', ')}.`),
    branch('', children),
    nodes.length > most && h('p', {}, `… and ${nodes.length - most} more`),
  )
}

function branch(through, children) {
  const nodes = children.get(through) ?? []
  return h('ul.tree', {}, ...nodes.map((node) => leaf(node, children)))
}

function leaf({ uid, ref, action, waitsFor }, children) {
  const [text, tone] = actions[action] ?? [action, 'plain']
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
    waitsFor.length > 0 && h('small', {}, `waits for ${waitsFor.join(', ')}`),
    children.has(uid) && branch(uid, children),
  )
}
