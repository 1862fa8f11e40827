import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { setMarkedValues } from './markers.ts'

const marker = { namespace: 'team', pipeline: 'app', environment: 'prod' }
const mark = '# {"$promotion": "team:app:prod"}'

function set(source: string, value = '1.1.0', path = 'app.yaml') {
  const edit = setMarkedValues({ path, content: new TextEncoder().encode(source) }, marker, { value, revision: value })
  return edit.edit === 'changed' ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(edit.content) : edit
}

describe('a marked value', () => {
  it.each([
    ['is set where it is plain', `version: 1.0.0 ${mark}\n`, `version: 1.1.0 ${mark}\n`],
    ['keeps its double quotes', `version: "1.0.0" ${mark}\n`, `version: "1.1.0" ${mark}\n`],
    ['keeps its single quotes', `version: '1.0.0'   ${mark}\n`, `version: '1.1.0'   ${mark}\n`],
    ['is set in a list', `- a\n- 1.0.0 ${mark}\n- b\n`, `- a\n- 1.1.0 ${mark}\n- b\n`],
    ['is set at the top level', `1.0.0 ${mark}\n`, `1.1.0 ${mark}\n`],
    ['is set below a comment of its own', `a: 1\n${mark}\nversion: 1.0.0\n`, `a: 1\n${mark}\nversion: 1.1.0\n`],
    ['is set below a comment at the very start', `${mark}\nversion: 1.0.0\n`, `${mark}\nversion: 1.1.0\n`],
    ['is set without a last line feed', `version: 1.0.0 ${mark}`, `version: 1.1.0 ${mark}`],
    ['is set where there was none', `version: ${mark}\n`, `version: 1.1.0 ${mark}\n`],
    ['is set behind an anchor', `version: &v 1.0.0 ${mark}\nother: *v\n`, `version: &v 1.1.0 ${mark}\nother: *v\n`],
    ['is set in a flow list', `[a, 1.0.0, ${mark}\n b]\n`, `[a, 1.1.0, ${mark}\n b]\n`],
    [
      'is set in a file with Windows line ends',
      `---\r\na:   1\r\nversion: 1.0.0 ${mark}\r\nb: 2\r\n`,
      `---\r\na:   1\r\nversion: 1.1.0 ${mark}\r\nb: 2\r\n`,
    ],
    ['is set behind a byte order mark', `\uFEFFversion: 1.0.0 ${mark}\n`, `\uFEFFversion: 1.1.0 ${mark}\n`],
    [
      'is set in every document',
      `---\nversion: 1.0.0 ${mark}\n---\n# odd\n    deep:\n          version: "1.0.0"     ${mark}\n...\n`,
      `---\nversion: 1.1.0 ${mark}\n---\n# odd\n    deep:\n          version: "1.1.0"     ${mark}\n...\n`,
    ],
    [
      'leaves its neighbours alone',
      `a:    1   # keep\nversion: 1.0.0 ${mark}\nname: {{ .x }}\nlist: [ 1,2 ]\n`,
      `a:    1   # keep\nversion: 1.1.0 ${mark}\nname: {{ .x }}\nlist: [ 1,2 ]\n`,
    ],
  ])('N32: %s', (_, source, expected) => expect(set(source)).toBe(expected))

  it.each([
    '1.10',
    '5',
    'true',
    'yes',
    'null',
    '~',
    '1e3',
    '0x1f',
    '12:30:45',
    '2026-11-02',
    '',
    ' x',
    'a: b',
    'a #b',
    '*x',
    '- a',
    'x:',
    '[1]',
    '{a}',
    'no',
    '.5',
    '0o17',
    '0b1',
    '1_000',
  ])('N32: is quoted when plain it would not stay the string %j', (value) => {
    const edited = set(`version: 1.0.0 ${mark}\n`, value)
    expect(edited).toBe(`version: ${JSON.stringify(value)} ${mark}\n`)
  })

  it('N31: of another environment, pipeline or namespace is left alone', () => {
    const source = ['team:app:dev', 'team:other:prod', 'x:app:prod']
      .map((text) => `v: 1 # {"$promotion": "${text}"}\n`)
      .join('---\n')
    expect(set(source)).toEqual({ edit: 'none' })
  })

  it('that is right already changes nothing', () => {
    expect(set(`version: 1.1.0 ${mark}\n`)).toEqual({ edit: 'same' })
  })

  it('is read back as the same string whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.constantFrom('old', '"old"', "'old'"), (value, old) => {
        fc.pre(value !== 'old')
        const edited = set(`version: ${old} ${mark}\nnext: 1\n`, value)
        if (typeof edited !== 'string') throw new Error('not edited')
        const document = parseDocument(edited)
        expect(document.errors).toEqual([])
        expect(document.toJS()).toEqual({ version: value, next: 1 })
      }),
    )
  })
})

describe('a file that cannot be edited safely', () => {
  it.each([
    ['broken YAML', `a: [1\nversion: 1.0.0 ${mark}\n`],
    ['a template', `{{- if .x }}\nversion: 1.0.0 ${mark}\n{{- end }}\n`],
    ['a marker on a block of text', `text: | ${mark}\n  1.0.0\n`],
    ['a marker on an alias', `a: &a 1\nb: *a ${mark}\n`],
  ])('N31: is a problem: %s', (_, source) => expect(set(source)).toMatchObject({ edit: 'problem' }))

  it('is a problem when it is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`version: 1 ${mark}`)])
    expect(setMarkedValues({ path: 'a.yaml', content: bytes }, marker, { value: '2', revision: '2' })).toEqual({
      edit: 'problem',
      problem: 'is not UTF-8',
    })
  })
})

describe('one of several markers', () => {
  it.each([
    ['behind a flow collection', 'a.yaml', `tag: 1.0.0 ${mark}\nimage: { tag: 1.0.0 } ${mark}\n`, /^line 2: /],
    ['below its value', 'a.yaml', `tag: 1.0.0 ${mark}\nimage: 1.0.0\n  ${mark}\n`, /^line 3: /],
    ['that is not JSON', 'a.yaml', `tag: 1.0.0 ${mark}\nimage: 1.0.0 ${mark} later\n`, /^line 2: .*JSON/],
    ['behind a number', 'a.toml', `tag = "1.0.0" ${mark}\nimage = 1.0 ${mark}\n`, /^line 2: /],
    [
      'for a member that is missing',
      'a.json',
      '{"tag": "1.0.0", "$promotion": {"tag": "team:app:prod", "image": "team:app:prod"}}',
      /"image"/,
    ],
  ])('%s is a problem: a promotion never changes only some of its values', (_, path, source, problem) => {
    expect(set(source, '1.1.0', path)).toMatchObject({ edit: 'problem', problem: expect.stringMatching(problem) })
  })

  it('in the text of another value is left alone', () => {
    const source = `tag: 1.0.0 ${mark}\ntext: |\n  image: 1.0.0 ${mark}\n`
    expect(set(source)).toBe(source.replace('1.0.0', '1.1.0'))
  })
})

describe('a line that is commented out', () => {
  it('marks nothing, and not the value below it', () => {
    const source = `# tag: 0.9.0 ${mark}\nreplicas: 3\n`
    expect(set(source)).toEqual({ edit: 'none' })
    expect(set(`${source}tag: 1.0.0 ${mark}\n`)).toBe(`${source}tag: 1.1.0 ${mark}\n`)
    expect(set(`# tag = "0.9.0" ${mark}\nreplicas = 3\n`, '1.1.0', 'a.toml')).toEqual({ edit: 'none' })
  })
})

describe('a file with markers of other pipelines only', () => {
  const other = '# {"$promotion": "team:other:prod"}'

  it.each([
    ['is left alone however large it is', Buffer.from(`v: 1 ${other}\n${'x: y\n'.repeat(300_000)}`)],
    ['is left alone in any encoding', Buffer.concat([Buffer.from(`v: 1 ${other}\nc: `), Buffer.from([0xe9])])],
  ])('%s', (_, content) => {
    expect(setMarkedValues({ path: 'a.yaml', content }, marker, { value: '2', revision: '2' })).toEqual({
      edit: 'none',
    })
  })
})

describe('a marker with a template', () => {
  it('sets a value of its own, so that a tag and an image may differ', () => {
    const source = `tag: 1.0.0 ${mark}\nimage: acme/app:1.0.0 # {"$promotion": "team:app:prod", "value": "acme/app:{{tag}}"}\n`
    const content = new TextEncoder().encode(source)
    const revision = `1.1.0@sha256:${'a'.repeat(64)}`
    const edit = setMarkedValues({ path: 'a.yaml', content }, marker, { value: '1.1.0', revision })
    expect(new TextDecoder().decode((edit as { content: Uint8Array }).content)).toBe(
      source.replace('tag: 1.0.0', 'tag: 1.1.0').replace('acme/app:1.0.0', 'acme/app:1.1.0'),
    )
  })
})

describe('in a JSON file, a marked value', () => {
  const source =
    '{\n\t"image": {"name": "acme/app", "tag": "1.0.0",\n\t\t"$promotion": {"tag": "team:app:prod"}}, "n": 1.50\n}\n'

  it('is a member of the same object, and every other byte stays', () => {
    expect(set(source, '1.1.0', 'a.json')).toBe(source.replace('"1.0.0"', '"1.1.0"'))
    expect(set(source.replace('1.0.0', '1.1.0'), '1.1.0', 'a.json')).toEqual({ edit: 'same' })
    expect(set(source.replace('team:app:prod', 'team:app:dev'), '1.1.0', 'a.json')).toEqual({ edit: 'none' })
  })

  it('may have a template', () => {
    const marked = source.replace('"team:app:prod"', '{"$promotion": "team:app:prod", "value": "v{{value}}"}')
    expect(set(marked, '1.1.0', 'a.json')).toBe(marked.replace('"1.0.0"', '"v1.1.0"'))
  })

  it('that is missing, or in a broken file, is a problem', () => {
    expect(set(source.replace('"tag": "1.0.0"', '"label": "1.0.0"'), '2', 'a.json')).toMatchObject({ edit: 'problem' })
    expect(set(source.slice(0, -3), '2', 'a.json')).toMatchObject({ edit: 'problem' })
    expect(set(`${source}secret`, '2', 'a.json')).toMatchObject({ problem: expect.not.stringContaining('secret') })
  })
})

describe('in a TOML file, a marked value', () => {
  it('is set, and comments and every other byte stay', () => {
    const source = `# top\n[app]  # table\nversion = "1.0.0"  ${mark}\nlit = 'x' ${mark}\nlist = [\n  "1.0.0", ${mark}\n  "1.0.0",\n]\n`
    const lines = source.split('\n')
    const after = (set(source, '1.1.0', 'a.toml') as string).split('\n')
    expect(after).toHaveLength(lines.length)
    expect(after[2]).toBe(`version = "1.1.0"  ${mark}`)
    expect(after[3]).toBe(`lit = '1.1.0' ${mark}`)
    expect(after[5]).toBe(`  "1.1.0", ${mark}`)
    expect(after.filter((line, index) => line !== lines[index])).toHaveLength(3)
  })

  it('in a string that only looks like one is left alone, and a broken file is a problem', () => {
    const source = `text = """\nversion = "1.0.0" ${mark}\n"""\n`
    expect(set(source, '1.1.0', 'a.toml')).toMatchObject({ edit: 'problem' })
    expect(set(`a = = 1 ${mark}\n`, '1.1.0', 'a.toml')).toMatchObject({ edit: 'problem' })
  })
})
