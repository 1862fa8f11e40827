import { EVENT_ID, getScalarValue, SCALAR_STYLE, type Event, type ScalarEvent } from 'js-yaml'

/** An open collection of the text. `keys` only for mappings. */
interface Frame {
  readonly keys?: Set<string>
  /** The key whose value comes next; undefined while a key is expected. `''`-like keys are wrapped, so that they differ from none. */
  key?: { readonly text: string; readonly at: number } | undefined
}

/** Keys that a mapping of the text has twice, in the words of Go's strict decoder, the first hundred of them. */
export function duplicateKeys(text: string, events: readonly Event[]): readonly string[] {
  const found: string[] = []
  const frames: Frame[] = []
  const lineOf = lineCounter(text)
  for (const event of events) {
    if (found.length >= mostFindings) break
    if (event.type === EVENT_ID.POP) {
      frames.pop()
      continue
    }
    const frame = frames.at(-1)
    if (frame?.keys) {
      if (!frame.key) frame.key = keyOf(text, event)
      else {
        const { text: key, at } = frame.key
        if (key !== mergeKey && frame.keys.has(key))
          found.push(`line ${lineOf(startOf(event) ?? at)}: key ${key} already set in map`)
        frame.keys.add(key)
        frame.key = undefined
      }
    }
    if (event.type === EVENT_ID.MAPPING) frames.push({ keys: new Set() })
    else if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.DOCUMENT) frames.push({})
  }
  return found
}

const mostFindings = 100
const mergeKey = '<<'

/** A key as Go prints it with `%#v`: text quoted, numbers and truth values not. */
function keyOf(text: string, event: Event): { text: string; at: number } {
  const at = startOf(event) ?? 0
  if (event.type !== EVENT_ID.SCALAR) return { text: `@${at}`, at }
  const value = getScalarValue(text, event)
  return { text: isBare(event, value) ? value : JSON.stringify(value), at }
}

function isBare({ style }: ScalarEvent, value: string): boolean {
  return style === SCALAR_STYLE.PLAIN && /^(?:<<|true|false|-?\d+)$/.test(value)
}

/** Where a value begins; undefined for an empty one. */
function startOf(event: Event): number | undefined {
  if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) return event.start
  if (event.type === EVENT_ID.SCALAR && event.valueStart >= 0) return event.valueStart
  return event.type === EVENT_ID.ALIAS ? event.anchorStart : undefined
}

/** Counts lines up to a position; positions mostly grow, so that the text is read once. */
function lineCounter(text: string): (position: number) => number {
  let line = 1
  let counted = 0
  return (position) => {
    if (position < counted) [line, counted] = [1, 0]
    for (let at = text.indexOf('\n', counted); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
      line++
      counted = at + 1
    }
    return line
  }
}
