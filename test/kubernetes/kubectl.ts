import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ensureTool, type Tool } from '../../scripts/reference-cluster/tools.ts'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface World {
  readonly kubeconfig: string
  readonly input?: unknown
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a real client program against a cluster; an object as input goes in as JSON. */
export function attempt(tool: Tool, args: readonly string[], world: World): Promise<Said> {
  return onceKnown(
    () => runOnce(tool, args, world),
    ({ code, stderr }) => code !== 0 && isUnknownKind(stderr),
  )
}

/** The same, for what must succeed; returns what it printed. */
export async function run(...command: Parameters<typeof attempt>): Promise<string> {
  const { code, stdout, stderr } = await attempt(...command)
  if (code !== 0) throw new Error(`${command[0]} ${command[1].join(' ')} failed with ${code}:\n${stderr}\n${stdout}`)
  return stdout.trim()
}

async function runOnce(tool: Tool, args: readonly string[], { kubeconfig, input, env = {} }: World): Promise<Said> {
  const program = await ensureTool(tool)
  home ??= mkdtempSync(join(tmpdir(), 'sojourn-home-'))
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, KUBECONFIG: kubeconfig, ...env },
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (said.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said.stderr += chunk))
  child.stdin.on('error', () => {})
  child.stdin.end(input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? -1, ...said }))
  })
}

/**
 * Creates something by another client. kube-apiserver answers 503 for up to half a minute for an object of a kind that was defined moments ago, while its
 * mutating admission policies do not know the kind: then it is tried again.
 */
export async function createKnown<T>(create: () => Promise<T>): Promise<T> {
  const tried = await onceKnown(
    () =>
      create().then(
        (created) => ({ created }),
        (error: unknown) => ({ error }),
      ),
    (answer) => 'error' in answer && isUnknownKind(String(answer.error)),
  )
  if ('error' in tried) throw tried.error
  return tried.created
}

async function onceKnown<T>(ask: () => Promise<T>, isUnknown: (answer: T) => boolean): Promise<T> {
  const endsAt = performance.now() + 120_000
  for (;;) {
    const answer = await ask()
    if (!isUnknown(answer) || performance.now() > endsAt) return answer
    await setTimeout(500)
  }
}

function isUnknownKind(text: string): boolean {
  return text.includes('There can be a delay between when CustomResourceDefinitions are created')
}

/**
 * Resolves when every definition is served, and the admission policies that are installed by now know its kind.
 * kubectl fails on a definition that has no conditions at all yet: then it is asked again.
 */
export async function whenEstablished(cluster: { readonly kubeconfig: string }): Promise<void> {
  const wait = ['wait', '--for=condition=Established', 'crd', '--all'] as const
  for (
    let said = await attempt('kubectl', wait, cluster);
    said.code !== 0;
    said = await attempt('kubectl', wait, cluster)
  )
    if (!said.stderr.includes('.status.conditions accessor error')) throw new Error(said.stderr)
  const crds = JSON.parse(await run('kubectl', ['get', 'crd', '-o', 'json'], cluster)) as {
    readonly items: Definition[]
  }
  const items = crds.items.map(({ spec: { group, names, versions } }) => ({
    apiVersion: `${group}/${versions[0]?.name}`,
    kind: names.kind,
    metadata: { name: 'known' },
  }))
  const input = { apiVersion: 'v1', kind: 'List', items }
  // Most are refused as incomplete; what counts is that none is unknown.
  await attempt('kubectl', ['create', '--dry-run=server', '-f', '-'], { ...cluster, input })
}

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

let home: string | undefined
