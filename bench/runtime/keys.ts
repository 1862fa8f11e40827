/** Keys of 30 characters, each a string of its own as when read from the network; the same that the Go peer uses. */
export function keyBatch(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index
    const text = `namespace-${String(number % 1000).padStart(3, '0')}/object-${String(number).padStart(9, '0')}`
    return Buffer.from(text, 'latin1').toString('latin1')
  })
}

/** Numbers in [0, 1), the same in every run. */
export function repeatable(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    return (state >>> 0) / 2 ** 32
  }
}
