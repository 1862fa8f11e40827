import type { Command } from './terminal/command.ts'

/** The command of this name. `up`, `run` and `version` are loaded alone, to start quickly. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  if (name === 'up') return (await import('./operate/up.ts')).up
  if (name === 'run') return (await import('./operate/run.ts')).run
  if (name === 'version') return (await import('./show/version.ts')).version
  const { commands } = await import('./commands.ts')
  return commands.find((candidate) => candidate.name === name)
}
