import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The rows of a page's tables, each as its demand and what proves it. */
export function seedRows(page: string): readonly (readonly [demand: string, proof: string])[] {
  return readFileSync(join(root, page), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, demand, proof] = /^\| (.*) \| (.*) \|$/.exec(line) ?? []
      return demand === undefined || proof === undefined || demand === 'demand' ? [] : [[demand, proof] as const]
    })
}

/** What a page says and is not so: rows that name no test, files that are not there, names that no test of the file has. */
export function unproved(page: string, folder: string): readonly string[] {
  return seedRows(page).flatMap(([demand, proof]) => {
    const named = [...proof.matchAll(/`([^`]+\.test\.ts)`((?:,? “[^”]+”)+)/g)]
    if (named.length === 0) return [`${demand}: names no test`]
    return named.flatMap(([, file = '', names = '']) => {
      const path = [join(root, folder, file), join(root, file)].find((each) => existsSync(each))
      if (path === undefined) return [`${demand}: no ${file}`]
      const text = readFileSync(path, 'utf8')
      return [...names.matchAll(/“([^”]+)”/g)].flatMap(([, name = '']) =>
        text.includes(name) ? [] : [`${demand}: no “${name}” in ${file}`],
      )
    })
  })
}
