import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/kube/object.ts'
import { parseLongDuration } from '../../src/kube/time.ts'

/** One thing that is done or looked at, in the order of `check/expected.yaml`. */
export interface Step {
  /** How long after everything was applied, on a clock that jumps there. */
  readonly at?: string
  /** How long it may take at most, in real time. */
  readonly within?: string
  /** A file beside expected.yaml that somebody applies now. */
  readonly apply?: string
  /** The object whose record is restored now. */
  readonly restore?: { readonly kind: string; readonly name: string }
  /** A request through the proxy, and what comes back. */
  readonly request?: { readonly host: string; readonly tls?: boolean; readonly answers: string }
  /** The names of the machine images that are left in the cloud. */
  readonly images?: readonly string[]
  /** The only pull request there is, merged, and what the file on `main` says now. */
  readonly merged?: { readonly title: string; readonly says: string }
  /** What is there, each as much of a manifest as matters. */
  readonly exists?: readonly KubeObject[]
  /** What is not there. */
  readonly gone?: readonly KubeObject[]
  readonly count?: readonly {
    readonly apiVersion: string
    readonly kind: string
    readonly namespace?: string
    readonly is: number
  }[]
  /** Records there are, each as much of its spec as matters. */
  readonly departed?: readonly Readonly<Record<string, unknown>>[]
}

export interface Example {
  readonly name: string
  readonly manifests: readonly KubeObject[]
  readonly steps: readonly Step[]
  /** Whether it runs in real time: with processes and sockets. */
  readonly isReal: boolean
  file(name: string): readonly KubeObject[]
}

const folder = resolve(import.meta.dirname, '../../examples')

/** The names of all examples, in order. */
export function exampleNames(): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^\d\d-/.test(entry.name))
    .map(({ name }) => name)
    .toSorted()
}

/** Reads an example: what `kubectl apply -f` of its folder would apply, some addresses replaced, and what is expected of it. */
export function readExample(name: string, instead: Readonly<Record<string, string>> = {}): Example {
  const home = join(folder, name)
  const steps = parse(readFileSync(join(home, 'check/expected.yaml'), 'utf8')) as readonly Step[]
  return {
    name,
    manifests: readdirSync(home)
      .filter((file) => file.endsWith('.yaml'))
      .toSorted()
      .flatMap((file) => documents(join(home, file), instead)),
    steps,
    isReal: steps.some(({ within, request }) => within !== undefined || request !== undefined),
    file: (file) => documents(join(home, 'check', file)),
  }
}

/** A duration as the examples write it, in milliseconds. */
export function durationOf(text: string): number {
  const ms = parseLongDuration(text)
  if (ms === undefined) throw new Error(`${text} is no duration`)
  return ms
}

function documents(path: string, instead: Readonly<Record<string, string>> = {}): readonly KubeObject[] {
  let text = readFileSync(path, 'utf8')
  for (const [address, here] of Object.entries(instead)) text = text.replaceAll(address, here)
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject)
}
