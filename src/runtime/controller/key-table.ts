import { KeyShard, hashOf } from '../../kube/basics/key-shard.ts'

const shardBits = 8
const shardMask = (1 << shardBits) - 1

/**
 * Texts as dense integers, off the heap. A handle stays the same until it was released as often as it was interned.
 * Many small shards rather than one table, so that growing one is never felt.
 */
export class KeyTable {
  /** Chosen by the upper bits of a text's hash; the lower ones place it inside. A handle's low byte is its shard. */
  readonly #shards: readonly KeyShard[] = Array.from({ length: shardMask + 1 }, () => new KeyShard())

  intern(text: string): number {
    const hash = hashOf(text)
    const shard = hash >>> (32 - shardBits)
    return (this.#shard(shard).intern(text, hash) << shardBits) | shard
  }

  /** The handle of a text that is interned, or -1. Takes no reference. */
  find(text: string): number {
    const hash = hashOf(text)
    const shard = hash >>> (32 - shardBits)
    const local = this.#shard(shard).find(text, hash)
    return local < 0 ? -1 : (local << shardBits) | shard
  }

  textOf(handle: number): string {
    return this.#shard(handle & shardMask).textOf(handle >>> shardBits)
  }

  /** Takes one more reference. */
  retain(handle: number): void {
    this.#shard(handle & shardMask).retain(handle >>> shardBits)
  }

  /** Gives one reference back; true when the text is gone. */
  release(handle: number): boolean {
    return this.#shard(handle & shardMask).release(handle >>> shardBits)
  }

  get size(): number {
    return this.#shards.reduce((total, shard) => total + shard.size, 0)
  }

  /** Bytes held outside the heap. */
  get byteLength(): number {
    return this.#shards.reduce((total, shard) => total + shard.byteLength, 0)
  }

  #shard(index: number): KeyShard {
    return this.#shards[index] as KeyShard
  }
}
