import type { Route } from '../routing/route.ts'

export const refreshSeconds = 2

/** The page a browser shows while the workload wakes. It reloads itself. */
export function waitingPage({ config, target }: Route, host: string): { readonly type: string; readonly body: string } {
  if (config.customPage) return config.customPage
  const { wakingMs, expectedWakeMs: expectedMs } = target
  const name = escapeHtml(host)
  const seconds = Math.max(1, Math.round((expectedMs ?? 0) / 1000))
  const soon =
    expectedMs === undefined
      ? 'It has not been timed yet.'
      : `It usually takes about ${seconds} second${seconds === 1 ? '' : 's'}.`
  const share = expectedMs === undefined ? 30 : Math.min(95, Math.round((wakingMs / Math.max(1, expectedMs)) * 100))
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="${refreshSeconds}">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Waking ${name}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:90vh;margin:0;color:#223;background:#f6f7f9}
main{max-width:28rem;padding:2rem}progress{width:100%}@media(prefers-color-scheme:dark){body{color:#dde;background:#15171c}}</style></head>
<body><main><h1>Waking up</h1><p><strong>${name}</strong> was asleep and is being started. ${soon} This page reloads by itself.</p>
<progress max="100" value="${share}" aria-label="progress"></progress></main></body></html>
`
  return { type: 'text/html; charset=utf-8', body }
}

/** Whether a request is a person's browser opening a page, rather than a script, an asset or a program. */
export function isNavigation(method: string, field: (name: string) => string | undefined): boolean {
  if (method !== 'GET' || !field('accept')?.includes('text/html')) return false
  const mode = field('sec-fetch-mode')
  return mode === undefined ? field('x-requested-with') === undefined : mode === 'navigate'
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
