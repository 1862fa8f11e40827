/** A case of a specification, and the text in the source that makes it hold. */
export interface Guard {
  /** As the names of its tests begin: `C1`, `E14`; or words of the name of a test. */
  readonly case: string
  /** Relative to the root of the project. */
  readonly file: string
  /** Occurs once in the file. */
  readonly guard: string
  /** What is there when the guard is taken out. */
  readonly without: string
}
