/** Texts as dense integers, off the heap. A handle stays the same until it was released as often as it was interned. */
export declare class KeyTable {
  readonly size: number
  /** Bytes held outside the heap. */
  readonly byteLength: number
  intern(text: string): number
  /** The handle of a text that is interned, or -1. Takes no reference. */
  find(text: string): number
  textOf(handle: number): string
  /** Gives one reference back; true when the text is gone. */
  release(handle: number): boolean
}
