import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** Every relative link, image and anchor in a Markdown text, as written. */
function linksIn(text: string): readonly string[] {
  const prose = text.replaceAll(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2.*$/gm, '').replaceAll(/`[^`\n]*`/g, '')
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(([, link]) => link ?? '')
  const reference = [...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)].map(([, link]) => link ?? '')
  const html = [...prose.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)].map(([, link]) => link?.split(' ')[0] ?? '')
  return [...inline, ...reference, ...html].filter((link) => !/^[a-z][a-z+.-]*:/i.test(link) && link !== '#')
}

/** The anchors of a page's headings, as forges make them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)
  const explicit = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name]) => name ?? '')
  return new Set([...explicit, ...[...headings].map(([, heading = '']) => numbered(slug(heading), seen))])
}

function slug(heading: string): string {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-')
}

function numbered(name: string, seen: Map<string, number>): string {
  const count = seen.get(name) ?? 0
  seen.set(name, count + 1)
  return count === 0 ? name : `${name}-${count}`
}

function faultOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = decodeURI(link).split('#')
  const target = path === '' ? page : path.startsWith('/') ? path.slice(1) : join(dirname(page), path)
  const file = join(root, target)
  if (!existsSync(file)) return `${page}: ${link} does not exist`
  if (anchor === undefined || !target.endsWith('.md') || !statSync(file).isFile()) return undefined
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor) ? undefined : `${page}: ${link} names no heading`
}

const pages = globSync('**/*.md', { cwd: root, exclude: (name) => ['node_modules', 'build'].includes(name) })

it('every relative link of every page leads somewhere', () => {
  expect(pages.length).toBeGreaterThan(60)
  const faults = pages.flatMap((page) =>
    linksIn(readFileSync(join(root, page), 'utf8')).flatMap((link) => faultOf(page, link) ?? []),
  )
  expect(faults).toEqual([])
})

it('would notice a missing file and a missing heading', () => {
  expect(linksIn('[a](b.md) ![c](d.png "e") <img src="f.svg"> `[g](h)` [i](https://j.test)')).toEqual([
    'b.md',
    'd.png',
    'f.svg',
  ])
  expect(faultOf('README.md', 'docs/absent.md')).toContain('does not exist')
  expect(faultOf('README.md', 'CONTRIBUTING.md#no-such-heading')).toContain('names no heading')
  expect(faultOf('README.md', 'CONTRIBUTING.md#recipes')).toBeUndefined()
})
