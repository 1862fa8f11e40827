import type { Command } from './terminal/command.ts'

/** The command of this name. `up` and `run` are loaded alone, to start quickly. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  if (name === 'up') return (await import('./operate/up.ts')).up
  if (name === 'run') return (await import('./operate/run.ts')).run
  const { commands } = await import('./commands.ts')
  return commands.find((candidate) => candidate.name === name)
}
