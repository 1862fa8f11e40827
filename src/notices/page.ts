import type { RouteResponse } from '../runtime/http/route.ts'
import { escapeHtml } from './html.ts'

/** A page without scripts, frames or anything to load. */
export function page(status: number, title: string, body: string): RouteResponse {
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; --ink: #1f2937; --soft: #6b7280; --paper: #ffffff; --ground: #f3f4f6; --line: #e5e7eb; --act: #0f766e }
@media (prefers-color-scheme: dark) { :root { --ink: #f3f4f6; --soft: #9ca3af; --paper: #1f2937; --ground: #111827; --line: #374151; --act: #2dd4bf } }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif }
main { max-width: 34rem; margin: 12vh auto 0; padding: 2rem; background: var(--paper); border: 1px solid var(--line); border-radius: 10px }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.3 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; margin: 1rem 0 }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
input { width: 100%; box-sizing: border-box; padding: .6rem; border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit; font: inherit }
button { margin-top: 1rem; padding: .7rem 1.3rem; border: 0; border-radius: 6px; background: var(--act); color: var(--paper); font: inherit; font-weight: 600; cursor: pointer }
button:focus-visible, input:focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
a { color: var(--act) }
small { color: var(--soft) }
@media (max-width: 40rem) { main { margin: 0; min-height: 100vh; border: 0; border-radius: 0; box-sizing: border-box } }
</style></head>
<body><main>
<h1>${escapeHtml(title)}</h1>
${body}
</main></body>
</html>
`,
  }
}
