import { constructFromEvents, CORE_SCHEMA, EVENT_ID, mergeTag, parseEvents, YAMLException, type Event } from 'js-yaml'
import { checkTree } from './check-tree.ts'
import { duplicateKeys } from './duplicate-keys.ts'
import type { Limits } from './limits.ts'
import { ParseRefusal } from './parse-refusal.ts'

/** What a YAML text says. */
export interface YamlText {
  readonly documents: readonly unknown[]
  /** Keys that a mapping has twice, as Go's decoder reports them: `line 3: key "a" already set in map`. The last value wins. */
  readonly duplicates: readonly string[]
}

/** Reads YAML within limits; throws ParseRefusal. It blocks: foreign text is read in the parsing thread. */
export function readYaml(text: string, limits: Omit<Limits, 'timeMs'>): YamlText {
  if (text.length > limits.bytes) throw new ParseRefusal('bytes', `it is larger than ${limits.bytes} bytes`)
  try {
    const events = parseEvents(text, { maxDepth: limits.depth })
    checkEvents(events, limits)
    const documents = constructFromEvents(events, { source: text, schema, json: true })
    checkTree(documents.length === 1 ? documents[0] : documents, limits)
    return { documents, duplicates: duplicateKeys(text, events) }
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const line = error.mark ? `line ${error.mark.line + 1}: ` : ''
    const isTooDeep = error.reason.startsWith('nesting exceeded')
    throw new ParseRefusal(isTooDeep ? 'depth' : 'syntax', `${line}${error.reason}`, { cause: error })
  }
}

/** The merge key is YAML 1.1, but Go's decoder knows it. */
const schema = CORE_SCHEMA.withTags(mergeTag)

/** Before anything is built from them: aliases are cheap to write and dear to follow. */
function checkEvents(events: readonly Event[], { nodes, aliases, documents }: Omit<Limits, 'timeMs'>): void {
  let aliasesLeft = aliases
  let documentsLeft = documents
  let nodesLeft = nodes
  for (const { type } of events) {
    if (type === EVENT_ID.POP) continue
    if (type === EVENT_ID.DOCUMENT) {
      if (--documentsLeft < 0) throw new ParseRefusal('documents', `it has more than ${counted(documents, 'document')}`)
      continue
    }
    if (type === EVENT_ID.ALIAS && --aliasesLeft < 0)
      throw new ParseRefusal('aliases', `it has more than ${counted(aliases, 'alias')}`)
    if (--nodesLeft < 0) throw new ParseRefusal('nodes', `it has more than ${nodes} values`)
  }
}

function counted(count: number, noun: string): string {
  return count === 1 ? `one ${noun}` : `${count} ${noun}${noun.endsWith('s') ? 'es' : 's'}`
}
