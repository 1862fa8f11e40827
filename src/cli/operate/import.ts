import { stringify } from 'yaml'
import { UsageError, type Command } from '../terminal/command.ts'

/** Converts other tools' configuration into Sojourn's kinds. */
export const importCommand: Command = {
  name: 'import',
  summary: 'Convert a swabbie.yml into CleanupPolicies and related objects',
  usage: 'swabbie FILE',
  help: `
Prints manifests. Notes on differences and omissions go to the error stream.

Examples:
  sojourn import swabbie swabbie.yml | kubectl apply -f -`,
  flags: {},
  words: { min: 2, max: 2, completes: [['swabbie'], 'files'] },
  async run({ words, io }) {
    const [what = '', file = ''] = words
    if (what !== 'swabbie') throw new UsageError(`"${what}" cannot be imported: only "swabbie" can`)
    const { readSwabbie } = await import('../../app/operations/swabbie.ts')
    const { objects, notices, problems } = readSwabbie(file)
    for (const notice of notices) io.err(`note: ${notice}\n`)
    for (const problem of problems) io.err(`problem: ${problem}\n`)
    if (problems.length > 0) return 1
    io.out(objects.map((object) => `---\n${stringify(object, { aliasDuplicateObjects: false })}`).join(''))
    return 0
  },
}
