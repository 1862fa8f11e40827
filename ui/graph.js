import { svg } from './dom.js'

const boxWidth = 196
const boxHeight = 46
const columnGap = 64
const rowGap = 12
const margin = 8
/** Up to this many similar nodes under one owner are drawn singly; of more, the first few and one bundle. */
const maxAlike = 6

/**
 * A node to draw. `through` is the id of its owner, `also` those of other owners, `tone` its colour, `note` what happens to it.
 * @typedef {{ id: string, through?: string, also?: readonly string[], kind: string, name: string, note: string, tone: string, bundled?: number }} GraphNode
 * @typedef {GraphNode & { x: number, y: number }} Placed
 */

/**
 * Draws nodes in layers: each owner to the left of its dependents, vertically centred on them.
 * @param {readonly GraphNode[]} nodes the root first
 * @param {{ label: string, onSelect: (id: string) => void }} options
 */
export function drawGraph(nodes, { label, onSelect }) {
  const placed = place(bundle(nodes))
  const width = Math.max(...placed.map(({ x }) => x)) + boxWidth + margin
  const height = Math.max(...placed.map(({ y }) => y)) + boxHeight + margin
  const byId = new Map(placed.map((node) => [node.id, node]))
  return svg(
    'svg',
    { class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': label },
    ...placed.flatMap((node) =>
      [node.through, ...(node.also ?? [])].map((from) => edge(byId.get(from ?? ''), node, from !== node.through)),
    ),
    ...placed.map((node) => box(node, onSelect)),
  )
}

const collator = new Intl.Collator(undefined, { numeric: true })

/** Natural order, 2 before 10; bundles last. @param {GraphNode} left @param {GraphNode} right */
function byName(left, right) {
  return (left.bundled ?? 0) - (right.bundled ?? 0) || collator.compare(left.name, right.name)
}

/** Replaces many similar nodes under one owner by the first few and one bundle. @param {readonly GraphNode[]} nodes */
export function bundle(nodes) {
  const owners = new Set(nodes.map(({ through }) => through))
  /** @type {Map<string, GraphNode[]>} */
  const alike = Map.groupBy(nodes.toSorted(byName), (node) =>
    owners.has(node.id) ? node.id : JSON.stringify([node.through, node.kind, node.note]),
  )
  return [...alike.values()].flatMap((group) => {
    if (group.length <= maxAlike) return group
    const shown = group.slice(0, maxAlike - 1)
    const [first, ...rest] = group.slice(maxAlike - 1)
    return first ? [...shown, { ...first, name: `… and ${rest.length + 1} more`, bundled: rest.length + 1 }] : shown
  })
}

/** @param {readonly GraphNode[]} nodes @returns {Placed[]} */
export function place(nodes) {
  const children = Map.groupBy(nodes.toSorted(byName), ({ through }) => through ?? '')
  const known = new Set(nodes.map(({ id }) => id))
  const roots = nodes.filter(({ through }) => through === undefined || !known.has(through))
  /** @type {Placed[]} */
  const placed = []
  let bottom = margin
  /** Not by recursion: a chain may be longer than the stack. @type {{ node: GraphNode, layer: number, isDone: boolean }[]} */
  const work = roots.toReversed().map((node) => ({ node, layer: 0, isDone: false }))
  /** @type {Map<string, number>} */
  const rows = new Map()
  for (let next = work.pop(); next; next = work.pop()) {
    const { node, layer, isDone } = next
    const below = children.get(node.id) ?? []
    if (!isDone && below.length > 0) {
      work.push({ node, layer, isDone: true })
      for (const child of below.toReversed()) work.push({ node: child, layer: layer + 1, isDone: false })
      continue
    }
    const ys = below.map(({ id }) => rows.get(id) ?? 0)
    const y = ys.length > 0 ? (Math.min(...ys) + Math.max(...ys)) / 2 : bottom
    if (ys.length === 0) bottom += boxHeight + rowGap
    rows.set(node.id, y)
    placed.push({ ...node, x: margin + layer * (boxWidth + columnGap), y })
  }
  return placed
}

/** @param {Placed | undefined} from @param {Placed} to @param {boolean} isOther */
function edge(from, to, isOther) {
  if (!from) return undefined
  const [x1, y1] = [from.x + boxWidth, from.y + boxHeight / 2]
  const [x2, y2] = [to.x, to.y + boxHeight / 2]
  const middle = (x1 + x2) / 2
  const stays = to.tone === 'good' || to.tone === 'warn'
  return svg('path', {
    class: `edge ${to.tone}${stays ? ' stays' : ''}${isOther ? ' other' : ''}`,
    d: `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`,
  })
}

/** @param {Placed} node @param {(id: string) => void} onSelect */
function box({ id, through, x, y, kind, name, note, tone, bundled }, onSelect) {
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    onSelect(id)
  }
  return svg(
    'g',
    {
      class: `box ${tone}${bundled ? ' bundled' : ''}${through === undefined ? ' root' : ''}`,
      transform: `translate(${x} ${y})`,
      tabindex: 0,
      role: 'button',
      onclick: () => onSelect(id),
      onkeydown: onKey,
    },
    svg('title', {}, `${kind} ${name}: ${note}`),
    svg('rect', { width: boxWidth, height: boxHeight, rx: 10 }),
    svg('circle', { class: 'fate', cx: 16, cy: boxHeight / 2, r: 5 }),
    svg('text', { class: 'name', x: 30, y: 19 }, shortened(name, 18)),
    svg('text', { class: 'kind', x: 30, y: 35 }, shortened(kind, 24)),
  )
}

/** @param {string} text @param {number} most */
function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 9)}…${text.slice(-8)}`
}
