import { namespaces } from '../kube/core-types.ts'
import { departure } from '../apis/departure.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import type { Client } from '../client/client.ts'
import type { ResourceType } from '../kube/object.ts'
import {
  textFlag,
  type Call,
  type Command,
  type Completes,
  type Flag,
  type FlagValues,
  type Io,
} from './terminal/command.ts'
import { connect, contextsFor } from './terminal/connect.ts'

/** A completion of the word being typed. */
interface Candidate {
  readonly text: string
  readonly about?: string
}

/** Prints completions, a line each; `:files` leaves it to the shell. Errors print nothing. kubectl expects a number as last line instead, as cobra has it. */
export async function printCandidates(typed: readonly string[], io: Io, forKubectl = false): Promise<number> {
  const { commands } = await import('./commands.ts')
  const found = await complete(typed, commands, io).catch(() => [])
  if (found === 'files') io.out(forKubectl ? ':0\n' : ':files\n')
  // Names are untrusted and end up in a command line: print only those without shell metacharacters.
  else
    for (const { text, about } of found)
      if (/^[\w.,/:@=-]+$/.test(text)) io.out(about === undefined ? `${text}\n` : `${text}\t${about}\n`)
  // 4: no file names; 2: no blank after a kind and its slash.
  if (forKubectl && found !== 'files') io.out(found.some(({ text }) => text.endsWith('/')) ? ':6\n' : ':4\n')
  return 0
}

/** The completions of the last word of `typed`, which may be empty. */
async function complete(
  typed: readonly string[],
  commands: readonly Command[],
  io: Io,
): Promise<readonly Candidate[] | 'files'> {
  const [name = '', ...rest] = typed
  const all = commands.map((each) => ({ text: each.name, about: each.summary }))
  const last = rest.at(-1)
  if (last === undefined) return matching([...all, { text: 'help' }], name)
  if (name === 'help') return matching(all, last)
  const command = commands.find((each) => each.name === name)
  if (!command) return []
  // Bash splits `--flag=value` into three words.
  const [word, inline] = last === '=' ? ['', ''] : (/^(--[^=]+=)(.*)$/.exec(last)?.slice(1).toReversed() ?? [last, ''])
  const { words, flags, open } = read(command, [...rest.slice(0, -1), ...(inline ? [inline.slice(0, -1)] : [])])
  if (open) {
    const values = await valuesOf(open.completes, word ?? '', { words, flags, io })
    return values === 'files' ? values : values.map(({ text }) => ({ text: `${inline}${text}` }))
  }
  if (word?.startsWith('-')) return matching(flagsOf(command), word)
  return valuesOf(command.words?.completes?.[words.length], word ?? '', { words, flags, io })
}

/** Parses what was typed so far; `open` is the flag that still lacks its value. */
function read(command: Command, typed: readonly string[]) {
  const words: string[] = []
  const flags: Record<string, string | boolean> = {}
  let open: (Flag & { readonly name: string }) | undefined
  for (const word of typed) {
    if (word === '=') continue
    if (open) {
      flags[open.name] = word
      open = undefined
    } else if (word.startsWith('-')) {
      const [, given = '', value] = /^--?([^=]+)(?:=(.*))?$/.exec(word) ?? []
      const name = Object.entries(command.flags).find(([, { short }]) => short === given)?.[0] ?? given
      const flag = command.flags[name]
      if (flag?.type === 'string' && value === undefined) open = { ...flag, name }
      else flags[name] = value ?? true
    } else words.push(word)
  }
  return { words, flags: flags as FlagValues, open }
}

function flagsOf({ flags }: Command): readonly Candidate[] {
  return Object.entries(flags).map(([flag, { help }]) => ({ text: `--${flag}`, about: help }))
}

async function valuesOf(
  completes: Completes | undefined,
  word: string,
  call: Call,
): Promise<readonly Candidate[] | 'files'> {
  if (completes === 'files') return 'files'
  if (completes === undefined) return []
  if (typeof completes === 'object' && 'listOf' in completes) return listCandidates(completes.listOf, word)
  if (typeof completes !== 'string') return matching(named(completes), word)
  if (completes === 'contexts') return matching(named(contextsFor(call)), word)
  using connection = connect(call)
  const { client } = connection
  const place = call.flags['all-namespaces'] ? undefined : (textFlag(call.flags, 'namespace') ?? connection.namespace)
  switch (completes) {
    case 'namespaces':
      return matching(named(await namesOf(client, namespaces)), word)
    case 'departures':
      return matching(named(await namesOf(client, departure.type, place)), word)
    case 'pipelines':
      return matching(named(await namesOf(client, pipeline.type, place)), word)
    case 'environments':
      return matching(await environmentsOf(client, call, place), word)
    case 'revisions':
      return matching(await revisionsOf(client, call, place), word)
    case 'objects':
      return matching(named(await objectsLike(client, word, place)), word)
  }
}

/** Completes the last word of a comma-separated list with words that are not in it yet. */
function listCandidates(all: readonly string[], word: string): readonly Candidate[] {
  const given = word.split(',').slice(0, -1)
  const left = all.filter((each) => !given.includes(each))
  return matching(named(left.map((each) => [...given, each].join(','))), word)
}

async function findPipeline(client: Client, { words }: Call, namespace = 'default'): Promise<Pipeline> {
  return client.get<Pipeline>(pipeline.type, { name: words[0] ?? '', namespace })
}

/** Environments that wait for approval first. */
async function environmentsOf(client: Client, call: Call, namespace?: string): Promise<readonly Candidate[]> {
  const { spec, status } = await findPipeline(client, call, namespace)
  const all = spec.environments.map(({ name }) => {
    const waiting = status?.environments?.[name]?.waitingApproval
    return { text: name, ...(waiting ? { about: `${waiting.revision} waits for approval` } : {}) }
  })
  return all.toSorted((left, right) => Number('about' in right) - Number('about' in left))
}

async function revisionsOf(client: Client, call: Call, namespace?: string): Promise<readonly Candidate[]> {
  const { status } = await findPipeline(client, call, namespace)
  const { waitingApproval, promotion } = status?.environments?.[call.words[1] ?? ''] ?? {}
  return named([...new Set([waitingApproval?.revision, promotion?.revision].filter((each) => each !== undefined))])
}

/** Kinds, and after the slash the names of that kind. */
async function objectsLike(client: Client, word: string, namespace: string | undefined): Promise<readonly string[]> {
  const [kind = '', name] = word.split('/')
  if (name === undefined) {
    const types = (await client.discovery.all()).filter(({ verbs }) => verbs.includes('list'))
    return [...new Set(types.map((type) => `${type.kind.toLowerCase()}/`))].toSorted()
  }
  const type = await client.discovery.find(kind)
  const names = type ? await namesOf(client, type, namespace ?? 'default') : []
  return names.map((each) => `${kind}/${each}`)
}

const maxNames = 500

async function namesOf(client: Client, type: ResourceType, namespace?: string): Promise<readonly string[]> {
  const place = namespace && type.namespaced ? { namespace } : {}
  const { items } = await client.list(type, { ...place, limit: maxNames, metadataOnly: true })
  return items.map(({ metadata }) => metadata.name ?? '')
}

function named(texts: readonly string[]): readonly Candidate[] {
  return texts.map((text) => ({ text }))
}

function matching(all: readonly Candidate[], word: string): readonly Candidate[] {
  return all.filter(({ text }) => text.startsWith(word))
}
