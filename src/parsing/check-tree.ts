import type { Limits } from './limits.ts'
import { ParseRefusal } from './parse-refusal.ts'

/**
 * Refuses a value that is too deep, has too many values or too much text. Every visit counts, depth first: a cycle meets the limit of depth after
 * that many steps, and a value behind aliases counts once per alias.
 */
export function checkTree(value: unknown, { depth, nodes, bytes }: Pick<Limits, 'depth' | 'nodes' | 'bytes'>): void {
  let nodesLeft = nodes
  let textLeft = bytes
  const visit = (item: unknown, depthLeft: number): void => {
    if (--nodesLeft < 0) throw new ParseRefusal('nodes', `it has more than ${nodes} values`)
    if (typeof item === 'string') return spend(item)
    if (typeof item !== 'object' || item === null) return
    if (depthLeft === 0) throw new ParseRefusal('depth', `it is nested deeper than ${depth} levels`)
    if (Array.isArray(item)) {
      for (const child of item) visit(child, depthLeft - 1)
      return
    }
    for (const key of Object.keys(item)) {
      spend(key)
      visit((item as Record<string, unknown>)[key], depthLeft - 1)
    }
  }
  const spend = ({ length }: string): void => {
    textLeft -= length
    if (textLeft < 0) throw new ParseRefusal('bytes', `its text is longer than ${bytes} bytes`)
  }
  visit(value, depth)
}
