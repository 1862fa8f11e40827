import type { Preview, PreviewNode } from '../../queries/cascade.ts'
import { describeRef } from '../../kube/object.ts'
import { readFlags, textFlag, UsageError, type Command, type Io } from '../terminal/command.ts'
import { connect } from '../terminal/connect.ts'
import { findObject } from '../terminal/object-word.ts'
import { print } from '../terminal/output.ts'
import { linesAbove } from './owner-tree.ts'
import { progress } from '../terminal/progress.ts'

/** Shows what would be deleted with an object. */
export const cascade: Command = {
  name: 'cascade',
  summary: 'Show what would be deleted with an object, as a tree; changes nothing',
  usage: 'KIND/NAME [flags]',
  help: `
Examples:
  sojourn cascade deployment/shop -n team
  sojourn cascade namespace/team --policy Foreground
  sojourn cascade cleaner/preview -o mermaid`,
  flags: {
    ...readFlags,
    output: {
      ...readFlags.output,
      help: 'table, json, yaml, dot or mermaid (default: table)',
      completes: ['table', 'json', 'yaml', 'dot', 'mermaid'],
    },
    policy: { type: 'string', value: 'POLICY', help: 'Background, Foreground or Orphan (default: Background)' },
  },
  words: { min: 1, max: 1, completes: ['objects'] },
  async run(call) {
    const format = textFlag(call.flags, 'output') ?? 'table'
    using connection = connect(call)
    const policy = policyOf(textFlag(call.flags, 'policy'))
    const { object } = await findObject(connection.client, call.words[0] ?? '', connection.namespace)
    const { previewCascade } = await import('../../queries/cascade.ts')
    using bar = progress(call.io)
    const startedAt = call.io.now()
    const found = await previewCascade(connection.client, object, {
      policy,
      now: startedAt,
      // No bar for short reads.
      onProgress: (done) => call.io.now() - startedAt > 500 && bar.show('reading', done),
    })
    bar.end()
    const write = formats[format]
    if (write) return stream(write(found), call.io)
    print(call, { ...found, nodes: [...found.nodes] }, () => '')
  },
}

type Found = Preview & { readonly obstacles: readonly string[] }

/** Formats that are streamed: a namespace may hold a million objects. */
const formats: Readonly<Record<string, (found: Found) => Iterable<string>>> = { table: tree, json, dot, mermaid }

function stream(pieces: Iterable<string>, { out }: Pick<Io, 'out'>): void {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < 65_536) continue
    out(text)
    text = ''
  }
  out(text)
}

function policyOf(text = 'Background'): Preview['policy'] {
  const found = (['Background', 'Foreground', 'Orphan'] as const).find(
    (policy) => policy.toLowerCase() === text.toLowerCase(),
  )
  if (!found) throw new UsageError(`--policy is "${text}": it must be Background, Foreground or Orphan`)
  return found
}

const outcomes: Readonly<Record<PreviewNode['action'], string>> = {
  delete: 'deleted',
  orphan: 'kept, without its owner',
  'drop-reference': 'kept: it has another owner',
  keep: 'kept',
  refuse: 'cannot be deleted',
  hold: 'deletion waits',
}

const reasons: Readonly<Partial<Record<PreviewNode['because'], string>>> = {
  protected: 'it is protected',
  'owner-unknown': 'another owner cannot be read',
  'requirement-gone': 'its dependency is deleted',
}

/** What happens to one object, in words. */
function outcomeOf({ action, because, waitsFor }: PreviewNode): string {
  const why = reasons[because] ? `: ${reasons[because]}` : ''
  const waits = waitsFor.length > 0 ? `, ${action === 'refuse' ? 'because of' : 'after'} ${waitsFor.join(', ')}` : ''
  return `${outcomes[action]}${why}${waits}`
}

/** Deeper lines name their level instead of being indented. */
const maxIndent = 50

function* tree({ nodes, complete, unknownKinds, obstacles }: Found): Generator<string, void, undefined> {
  const { first, next } = childrenOf(nodes)
  // An explicit stack: a chain may be deeper than the call stack.
  const open = [{ line: 0, prefix: '', branch: '', depth: 0 }]
  for (let at = open.pop(); at; at = open.pop()) {
    const { line, prefix, branch, depth } = at
    const node = nodes.at(line)
    const place = depth > maxIndent ? `… level ${depth}: ` : `${prefix}${branch}`
    yield `${place}${describeRef(node.ref)}  ${outcomeOf(node)}\n`
    const inner = branch === '' || depth >= maxIndent ? prefix : `${prefix}${branch === '└─ ' ? '   ' : '│  '}`
    const below: number[] = []
    for (let child = first[line] ?? -1; child >= 0; child = next[child] ?? -1) below.push(child)
    for (let index = below.length - 1; index >= 0; index--)
      open.push({
        line: below[index] ?? 0,
        prefix: inner,
        branch: index === below.length - 1 ? '└─ ' : '├─ ',
        depth: depth + 1,
      })
  }
  yield `\n${nodes.leaving} would be deleted, ${nodes.length - nodes.leaving} of those reached would be kept.\n`
  if (obstacles.length > 0) yield `It is being deleted and waits for ${obstacles.join('; ')}.\n`
  if (!complete) yield `Incomplete: could not read ${unknownKinds.join(', ')}.\n`
}

/** The first line below each line, and the next one beside it; -1 for none. */
function childrenOf(nodes: Preview['nodes']): { readonly first: Int32Array; readonly next: Int32Array } {
  const first = new Int32Array(nodes.length).fill(-1)
  const next = new Int32Array(nodes.length).fill(-1)
  const above = linesAbove(nodes)
  for (let line = nodes.length - 1; line > 0; line--) {
    const owner = above[line] ?? 0
    next[line] = first[owner] ?? -1
    first[owner] = line
  }
  return { first, next }
}

function* json({ nodes, ...rest }: Found): Generator<string, void, undefined> {
  yield `${JSON.stringify(rest, null, 2).slice(0, -2)},\n  "nodes": [`
  let separator = '\n'
  for (const node of nodes) {
    yield `${separator}    ${JSON.stringify(node, null, 2).replaceAll('\n', '\n    ')}`
    separator = ',\n'
  }
  yield '\n  ]\n}\n'
}

const colours: Readonly<Record<PreviewNode['action'], string>> = {
  delete: 'red',
  orphan: 'orange',
  'drop-reference': 'gray',
  keep: 'darkgreen',
  refuse: 'darkgreen',
  hold: 'blue',
}

function* dot({ nodes }: Found): Generator<string, void, undefined> {
  const quote = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  yield 'digraph cascade {\n'
  const above = linesAbove(nodes)
  for (let line = 0; line < nodes.length; line++) {
    const { uid, ref, action } = nodes.at(line)
    yield `  ${quote(uid)} [label=${quote(describeRef(ref))}, color=${colours[action]}];\n`
    if (line > 0) yield `  ${quote(nodes.uidOf(above[line] ?? 0))} -> ${quote(uid)};\n`
  }
  yield '}\n'
}

function* mermaid({ nodes }: Found): Generator<string, void, undefined> {
  const label = (text: string) => `["${text.replaceAll('"', '#quot;')}"]`
  yield 'flowchart TD\n'
  const above = linesAbove(nodes)
  for (let line = 0; line < nodes.length; line++) {
    const node = nodes.at(line)
    yield `  n${line}${label(`${describeRef(node.ref)}: ${outcomeOf(node)}`)}\n`
    if (line > 0) yield `  n${above[line]} --> n${line}\n`
  }
}
