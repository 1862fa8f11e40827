import { parse, parseDocument, stringify } from 'yaml'
import { repository } from '../build/repository.ts'
import { notesOf } from './notes.ts'

/** Chart.yaml with what only a release knows: its repository, and what changed. */
export function releasedChart(text: string, changelog: string, version: string): string {
  const metadata = parse(text) as Record<string, unknown> & { annotations: Record<string, string> }
  const changes = notesOf(changelog, version).match(/^- .*(?:\n {2}.*)*/gm) ?? []
  const kinds = changes.map((line) => ({ kind: 'changed', description: line.slice(2).replaceAll('\n  ', ' ') }))
  const links = [{ name: 'Documentation', url: `${repository}/tree/v${version}/docs` }]
  const annotations = {
    ...metadata.annotations,
    'artifacthub.io/changes': JSON.stringify(kinds),
    'artifacthub.io/links': JSON.stringify(links),
  }
  return stringify({ ...metadata, home: repository, sources: [repository], annotations }, { lineWidth: 0 })
}

/** values.yaml with the image of the release, REPOSITORY@DIGEST; unchanged without one. */
export function releasedValues(text: string, image: string | undefined): string {
  if (!image) return text
  const [name, digest] = image.split('@')
  const values = parseDocument(text)
  values.setIn(['image', 'repository'], name)
  values.setIn(['image', 'digest'], digest)
  return values.toString({ lineWidth: 0 })
}
