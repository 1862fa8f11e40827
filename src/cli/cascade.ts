import type { Preview, PreviewNode } from '../app/cascade.ts'
import { describeRef } from '../kube/object.ts'
import { readFlags, textFlag, UsageError, type Command } from './command.ts'
import { connect } from './connect.ts'
import { findObject } from './object-word.ts'
import { print } from './output.ts'

/** What would leave with an object. */
export const cascade: Command = {
  name: 'cascade',
  summary: 'What would leave with an object, as a tree; nothing is changed',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn cascade deployment/shop -n team
  sojourn cascade namespace/team --policy Foreground
  sojourn cascade cleaner/preview -o mermaid`,
  flags: {
    ...readFlags,
    output: { ...readFlags.output, help: 'table, json, yaml, dot or mermaid (default: table)' },
    policy: { type: 'string', value: 'POLICY', help: 'Background, Foreground or Orphan (default: Background)' },
  },
  words: { least: 1, most: 1 },
  async run(call) {
    using connection = connect(call)
    const policy = policyOf(textFlag(call.flags, 'policy'))
    const { object } = await findObject(connection.client, call.words[0] ?? '', connection.namespace)
    const { previewCascade } = await import('../app/cascade.ts')
    const preview = await previewCascade(connection.client, object, { policy, now: call.io.now() })
    const format = textFlag(call.flags, 'output')
    if (format === 'dot') return call.io.out(dot(preview))
    if (format === 'mermaid') return call.io.out(mermaid(preview))
    print(call, { ...preview, nodes: [...preview.nodes] }, () => tree(preview, preview.obstacles))
  },
}

function policyOf(text = 'Background'): Preview['policy'] {
  const found = (['Background', 'Foreground', 'Orphan'] as const).find(
    (policy) => policy.toLowerCase() === text.toLowerCase(),
  )
  if (!found) throw new UsageError(`--policy is "${text}": it must be Background, Foreground or Orphan`)
  return found
}

const fates: Readonly<Record<PreviewNode['action'], string>> = {
  delete: 'leaves',
  orphan: 'stays, without its owner',
  'drop-reference': 'stays: another owner keeps it',
  keep: 'stays',
  refuse: 'cannot be deleted',
  hold: 'is told to leave and waits',
}

const reasons: Readonly<Partial<Record<PreviewNode['because'], string>>> = {
  protected: 'it is protected',
  'owner-unknown': 'another owner cannot be read',
  'requirement-gone': 'what it needs is leaving',
}

/** What happens to one object, as a line says it. */
function fateOf({ action, because, waitsFor }: PreviewNode): string {
  const why = reasons[because] ? `: ${reasons[because]}` : ''
  const waits = waitsFor.length > 0 ? `, ${action === 'refuse' ? 'because of' : 'after'} ${waitsFor.join(', ')}` : ''
  return `${fates[action]}${why}${waits}`
}

function tree({ nodes: found, complete, unknownKinds }: Preview, obstacles: readonly string[]): string {
  const nodes = [...found]
  const children = Map.groupBy(nodes, ({ through }) => through ?? '')
  const lines: string[] = []
  // A stack of our own: a chain may be longer than any call stack.
  const open = (children.get('') ?? []).map((node) => ({ node, prefix: '', branch: '' }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, prefix, branch } = next
    lines.push(`${prefix}${branch}${describeRef(node.ref)}  ${fateOf(node)}`)
    const below = children.get(node.uid) ?? []
    const inner = branch === '' ? prefix : `${prefix}${branch === '└─ ' ? '   ' : '│  '}`
    for (const [index, child] of below.toReversed().entries())
      open.push({ node: child, prefix: inner, branch: index === 0 ? '└─ ' : '├─ ' })
  }
  const leaving = nodes.filter(({ action }) => action === 'delete').length
  lines.push('', `${leaving} would leave, ${nodes.length - leaving} of those reached would stay.`)
  if (obstacles.length > 0) lines.push(`It is leaving already and waits for ${obstacles.join('; ')}.`)
  if (!complete) lines.push(`Not everything could be read: ${unknownKinds.join(', ')}. There may be more.`)
  return lines.join('\n')
}

function dot({ nodes }: Preview): string {
  const colours: Readonly<Record<PreviewNode['action'], string>> = {
    delete: 'red',
    orphan: 'orange',
    'drop-reference': 'gray',
    keep: 'darkgreen',
    refuse: 'darkgreen',
    hold: 'blue',
  }
  const quote = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  const lines = [...nodes].flatMap(({ uid, ref, action, through }) => [
    `  ${quote(uid)} [label=${quote(describeRef(ref))}, color=${colours[action]}];`,
    ...(through ? [`  ${quote(through)} -> ${quote(uid)};`] : []),
  ])
  return `digraph cascade {\n${lines.join('\n')}\n}\n`
}

function mermaid({ nodes }: Preview): string {
  const ids = new Map([...nodes].map(({ uid }, index) => [uid, `n${index}`]))
  const label = (text: string) => `["${text.replaceAll('"', '#quot;')}"]`
  const lines = [...nodes].flatMap((node) => [
    `  ${ids.get(node.uid)}${label(`${describeRef(node.ref)}: ${fateOf(node)}`)}`,
    ...(node.through ? [`  ${ids.get(node.through)} --> ${ids.get(node.uid)}`] : []),
  ])
  return `flowchart TD\n${lines.join('\n')}\n`
}
