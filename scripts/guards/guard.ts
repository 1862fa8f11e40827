/** A case of a specification, and the text in the source that enforces it. */
export interface Guard {
  /** As the names of its tests begin: `C1`, `E14`; or words of the name of a test. */
  readonly case: string
  /** Relative to the root of the project. */
  readonly file: string
  /** Occurs once in the file. */
  readonly guard: string
  /** The text that replaces the guard when it is removed. */
  readonly without: string
}

/** The test that misses it, what is taken out, and what is there instead. */
export type Entry = readonly [test: string, guard: string, without: string]

export function inFile(file: string, entries: readonly Entry[]): readonly Guard[] {
  return entries.map(([test, guard, without]) => ({ case: test, file, guard, without }))
}
