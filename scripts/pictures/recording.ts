import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A line of the terminal, and when it appeared, long waits before it cut short. */
interface Line {
  readonly atMs: number
  readonly text: string
}

const program = join(import.meta.dirname, '../../bin/sojourn.js')
const speed = 4
const longestWaitMs = 8000
const columns = 118
const rows = 24
const [rowHeight, charWidth] = [18, 8]
const colours = {
  light: { paper: '#ffffff', ink: '#1f2328', faint: '#656d76', command: '#0550ae', frame: '#d1d9e0' },
  dark: { paper: '#0d1117', ink: '#e6edf3', faint: '#8b949e', command: '#79c0ff', frame: '#3d444d' },
} as const

/** Plays `sojourn demo` against a real `sojourn up` and returns what draws it, line by line when it was printed. */
export async function recordDemo(): Promise<(scheme: keyof typeof colours) => string> {
  const data = mkdtempSync(join(tmpdir(), 'recording-'))
  const up = spawn(process.execPath, [program, 'up', '--data', data, '--port', '0', '--proxy-port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    await ready(up)
    const demo = spawn(process.execPath, [program, 'demo', '--kubeconfig', join(data, 'kubeconfig')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = await linesOf(demo)
    if (demo.exitCode !== 0) throw new Error(`sojourn demo ended with ${demo.exitCode}`)
    return (scheme) => drawn(lines, colours[scheme])
  } finally {
    up.kill()
    await once(up, 'exit')
    rmSync(data, { recursive: true })
  }
}

async function ready(up: ChildProcess): Promise<void> {
  for await (const chunk of up.stdout ?? []) if (String(chunk).includes('sojourn ready')) return
  throw new Error('sojourn up ended before it was ready')
}

async function linesOf(demo: ChildProcess): Promise<readonly Line[]> {
  let [lastAt, atMs] = [performance.now(), 0]
  const lines: Line[] = [{ atMs, text: '      $ sojourn demo' }]
  let rest = ''
  const exited = once(demo, 'exit')
  for await (const chunk of demo.stdout ?? []) {
    const parts = `${rest}${String(chunk)}`.split('\n')
    rest = parts.pop() ?? ''
    atMs += Math.min(performance.now() - lastAt, longestWaitMs)
    lastAt = performance.now()
    for (const text of parts) lines.push({ atMs, text })
  }
  await exited
  return lines.flatMap(wrapped)
}

/** What is longer than the terminal continues on the next line, with the same indentation. */
function wrapped({ atMs, text }: Line): readonly Line[] {
  const indent = /^ */.exec(text)?.[0] ?? ''
  const lines: Line[] = []
  let rest = text
  while (rest.length > columns) {
    const cut = rest.lastIndexOf(' ', columns)
    lines.push({ atMs, text: rest.slice(0, cut) })
    rest = `${indent}${rest.slice(cut + 1)}`
  }
  return [...lines, { atMs, text: rest }]
}

type Colours = (typeof colours)[keyof typeof colours]

/** One text that scrolls up a row with each line beyond the last row; each line is shown from its moment on. A reader without motion sees the end. */
function drawn(lines: readonly Line[], { paper, ink, faint, command, frame }: Colours): string {
  const seconds = ((lines.at(-1)?.atMs ?? 0) / 1000 / speed + 4).toFixed(1)
  const [width, height] = [columns * charWidth + 32, rows * rowHeight + 32]
  const percent = (atMs: number) => ((atMs / 1000 / speed / Number(seconds)) * 100).toFixed(2)
  const steps = new Map(lines.map(({ atMs }, index) => [percent(atMs), Math.max(0, index + 1 - rows)]))
  const scroll = [...steps].map(([at, up]) => `${at}%{transform:translateY(${-up * rowHeight}px)}`)
  const fades = [...new Set(lines.map(({ atMs }) => percent(atMs)))]
  const rules = fades.map((at, index) => `@keyframes f${index}{0%{opacity:0}${at}%{opacity:1}}`)
  const texts = lines.map(({ atMs, text }, index) => {
    const colour = /^\d+:\d\d /.test(text) ? 'b' : text.trimStart().startsWith('$ ') ? 'c' : ''
    const anim = `animation:f${fades.indexOf(percent(atMs))} ${seconds}s step-end infinite`
    return `<text y="${(index + 1) * rowHeight}" class="${colour}" style="${anim}">${escaped(text)}</text>`
  })
  const last = -Math.max(0, lines.length - rows) * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A recording of sojourn demo, ${speed} times as fast as it ran, waits cut short</title>
<style>text{font:13.3px ui-monospace,Menlo,Consolas,monospace;fill:${ink};white-space:pre}.b{font-weight:700}.c{fill:${command}}
#s{animation:s ${seconds}s step-end infinite}@keyframes s{${scroll.join('')}100%{transform:translateY(${last}px)}}
${rules.join('')}
@media(prefers-reduced-motion){text{animation:none!important}#s{animation:none;transform:translateY(${last}px)}}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="${paper}" stroke="${frame}"/>
<svg x="16" y="12" width="${width - 32}" height="${height - 24}"><g id="s" fill="${faint}">
${texts.join('\n')}
</g></svg></svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
