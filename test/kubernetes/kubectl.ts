import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureTool, type Tool } from '../../scripts/reference-cluster/tools.ts'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a real client program against a cluster; an object as input goes in as JSON. */
export async function attempt(
  tool: Tool,
  args: readonly string[],
  { kubeconfig, input, env = {} }: { kubeconfig: string; input?: unknown; env?: Readonly<Record<string, string>> },
): Promise<Said> {
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

/** The same, for what must succeed; returns what it printed. */
export async function run(...command: Parameters<typeof attempt>): Promise<string> {
  const { code, stdout, stderr } = await attempt(...command)
  if (code !== 0) throw new Error(`${command[0]} ${command[1].join(' ')} failed with ${code}:\n${stderr}\n${stdout}`)
  return stdout.trim()
}

/** Resolves when every definition is served. kubectl fails on one that has no conditions at all yet: then it is asked again. */
export async function whenEstablished(cluster: { readonly kubeconfig: string }): Promise<void> {
  const wait = ['wait', '--for=condition=Established', 'crd', '--all'] as const
  for (
    let said = await attempt('kubectl', wait, cluster);
    said.code !== 0;
    said = await attempt('kubectl', wait, cluster)
  )
    if (!said.stderr.includes('.status.conditions accessor error')) throw new Error(said.stderr)
}

let home: string | undefined
