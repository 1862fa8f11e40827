/** Which bound a text broke; `syntax`: it is not in its format at all. `lost`: the parsing thread ended meanwhile. */
export type RefusalReason =
  | 'syntax'
  | 'bytes'
  | 'depth'
  | 'nodes'
  | 'aliases'
  | 'documents'
  | 'time'
  | 'memory'
  | 'lost'

/** A foreign text that is not read, and why. */
export class ParseRefusal extends Error {
  override readonly name = 'ParseRefusal'
  readonly because: RefusalReason

  constructor(because: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.because = because
  }

  /** Whether the same text would be refused again: true for all that does not depend on the state of the machine. */
  get isFinal(): boolean {
    return this.because !== 'lost'
  }
}
