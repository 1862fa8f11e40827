import { threadCpuUsage } from 'node:process'
import { parentPort } from 'node:worker_threads'
import { ParseRefusal, type RefusalReason } from './parse-refusal.ts'

/** A text to read, and the name of its reader. */
export interface Question {
  readonly reader: string
  readonly input: unknown
}

/**
 * `began`: the reader is loaded, reading begins. Otherwise what came of it, as JSON: cheaper to take in than an object, and without shared parts.
 */
export type Reply = { readonly usedMs: number } & Outcome

type Outcome =
  | { readonly began: true }
  | { readonly json: string | undefined }
  | { readonly refused: { readonly because: RefusalReason; readonly message: string } }
  | { readonly failed: string }

/** Loads a reader by name: a module whose `read` takes the input. */
export type Readers = Readonly<Record<string, () => Promise<{ readonly read: (input: never) => unknown }>>>

/** Reads, in this worker thread, each text that the main thread sends. */
export function serveReadings(readers: Readers): void {
  const loaded = new Set<string>()
  parentPort?.on('message', (question: Question) => void answer(question).then(send))

  async function answer({ reader, input }: Question): Promise<Outcome> {
    try {
      const module = await readers[reader]?.()
      if (!module) throw new Error(`the parsing thread has no reader ${reader}`)
      // Loading is not the text's fault.
      if (!loaded.has(reader)) send({ began: true })
      loaded.add(reader)
      return { json: JSON.stringify(module.read(input as never)) }
    } catch (error) {
      const { message, stack } = error as Error
      if (error instanceof ParseRefusal) return { refused: { because: error.because, message } }
      // A stack that overflows is a depth that no limit named.
      if (error instanceof RangeError) return { refused: { because: 'depth', message } }
      return { failed: stack ?? message }
    }
  }
}

function send(outcome: Outcome): void {
  const { user, system } = threadCpuUsage()
  parentPort?.postMessage({ ...outcome, usedMs: (user + system) / 1000 } satisfies Reply)
}
