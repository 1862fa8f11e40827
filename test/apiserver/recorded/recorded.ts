import { readFileSync } from 'node:fs'

/** What kube-apiserver 1.36.4 answered, or kubectl 1.36.4 sent: tests hold our answers against these. */
export function recorded<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as T
}
