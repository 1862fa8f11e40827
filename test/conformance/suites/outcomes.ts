import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What becomes of a spec: it passes, or why it does not. `not run` needs what the embedded server does not have. */
export interface Outcome {
  readonly outcome: 'pass' | 'fail' | 'not run'
  /** For all but passing ones. */
  readonly reason?: string
}

/** Outcomes by the full text of the spec. */
export type Outcomes = Readonly<Record<string, Outcome>>

/** The listed outcomes of a suite. */
export function readOutcomes(suite: string): Outcomes {
  return JSON.parse(readFileSync(fileOf(suite), 'utf8')) as Outcomes
}

/**
 * What a run found, as a list, beside the listed outcomes, both only of the specs that this run `includes`. With RECORD set
 * the found one becomes the new list, where a new failure gets its message as the reason, to be replaced by hand.
 */
export function compareOutcomes(
  suite: string,
  found: ReadonlyMap<string, FoundOutcome>,
  includes: (spec: string) => boolean,
): { readonly found: Outcomes; readonly listed: Outcomes } {
  const all = readOutcomes(suite)
  const listed = Object.fromEntries(Object.entries(all).filter(([spec]) => includes(spec)))
  const now = { ...listed }
  for (const [spec, { outcome, message = '' }] of found)
    if (listed[spec]?.outcome !== outcome) now[spec] = outcome === 'pass' ? { outcome } : { outcome, reason: message }
  // A spec that is listed and did not run has no outcome to compare with, and must not pass as the listed one.
  for (const [spec, { outcome }] of Object.entries(listed))
    if (outcome !== 'not run' && !found.has(spec)) now[spec] = { outcome: 'not run', reason: 'it did not run' }
  if (!process.env['RECORD']) return { found: now, listed }
  const sorted = Object.entries({ ...all, ...now }).toSorted(([left], [right]) => (left < right ? -1 : 1))
  writeFileSync(fileOf(suite), `${JSON.stringify(Object.fromEntries(sorted), undefined, 1)}\n`)
  return { found: now, listed: now }
}

export interface FoundOutcome {
  readonly outcome: 'pass' | 'fail'
  readonly message?: string
}

interface GinkgoSpec {
  readonly LeafNodeType: string
  readonly LeafNodeText: string
  readonly ContainerHierarchyTexts: readonly string[] | null
  readonly State: string
  readonly Failure?: { readonly Message?: string }
}

/** The specs of Ginkgo's JSON report that ran, by their full text. */
export function readReport(file: string): ReadonlyMap<string, FoundOutcome> {
  const suites = JSON.parse(readFileSync(file, 'utf8')) as readonly { readonly SpecReports: readonly GinkgoSpec[] }[]
  const ran = suites
    .flatMap(({ SpecReports }) => SpecReports)
    .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && State !== 'skipped' && State !== 'pending')
  return new Map(
    ran.map(({ ContainerHierarchyTexts, LeafNodeText, State, Failure }) => [
      [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' '),
      State === 'passed' ? { outcome: 'pass' } : { outcome: 'fail', message: Failure?.Message?.slice(0, 200) ?? State },
    ]),
  )
}

function fileOf(suite: string): string {
  return join(import.meta.dirname, `${suite}.json`)
}
