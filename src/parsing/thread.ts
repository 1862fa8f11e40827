import { threadCpuUsage } from 'node:process'
import { parentPort } from 'node:worker_threads'
import { ParseRefusal, type RefusalReason } from './parse-refusal.ts'

/** A text to read: `module` is a file of ours whose `read` takes the input. */
export interface Question {
  readonly module: string
  readonly input: unknown
}

/**
 * `began`: the module is loaded, reading begins. Otherwise what came of it, as JSON: cheaper to take in than an object, and without shared parts.
 */
export type Reply = { readonly usedMs: number } & Outcome

type Outcome =
  | { readonly began: true }
  | { readonly json: string | undefined }
  | { readonly refused: { readonly because: RefusalReason; readonly message: string } }
  | { readonly failed: string }

/** The module that runs in the thread. */
interface Reader {
  readonly read: (input: unknown) => unknown
}

parentPort?.on('message', (question: Question) => void answer(question).then(send))

function send(outcome: Outcome): void {
  const { user, system } = threadCpuUsage()
  parentPort?.postMessage({ ...outcome, usedMs: (user + system) / 1000 } satisfies Reply)
}

const loaded = new Set<string>()

async function answer({ module, input }: Question): Promise<Outcome> {
  try {
    const { read } = (await import(module)) as Reader
    // Loading is not the text's fault.
    if (!loaded.has(module)) send({ began: true })
    loaded.add(module)
    return { json: JSON.stringify(read(input)) }
  } catch (error) {
    const { message, stack } = error as Error
    if (error instanceof ParseRefusal) return { refused: { because: error.because, message } }
    // A stack that overflows is a depth that no limit named.
    if (error instanceof RangeError) return { refused: { because: 'depth', message } }
    return { failed: stack ?? message }
  }
}
