import { clusterRoles, type ClusterRole } from '../../src/app/install/rbac.ts'

/**
 * The role whose code made a call, by the call's stack: what a test itself asks has a test's file below the client.
 * Calls of the door and the caches are made for the system whose test it is, by its folder or its name.
 */
export function roleOf(
  stack: string,
  { testPath = '', currentTestName = '' }: { readonly testPath?: string; readonly currentTestName?: string },
): ClusterRole | 'door' | undefined {
  const files = [...stack.matchAll(/(?:src|test|bench)\/[\w./-]+\.ts/g)].map(([file]) => file)
  const caller = files.find((file) => !/^(src\/(client|kube|apiserver)|test\/access)\//.test(file))
  if (!caller || isTest(caller)) return undefined
  // Commands and the dashboard have the rights of who uses them; kinds are registered by the embedded server.
  if (files.some((file) => file.startsWith('src/app/operations/') || file === 'src/admission/register-kinds.ts'))
    return undefined
  const system = files.find((file) => file.startsWith('src/systems/') && !isTest(file))
  // A restore has the rights of whoever asks for it; before it empties something, the embedded server records it itself.
  if (!system && files.some((file) => nobodysRole.has(file))) return undefined
  const named = clusterRoles.find(
    (role) => currentTestName.includes(` the ${role} `) || currentTestName.includes(` the ${role},`),
  )
  // Only the collector writes down what leaves along with something.
  if (caller === 'src/departures/records/cascade-recorder.ts') return 'collector'
  return (
    roleIn(system ?? '') ?? named ?? roleIn(testPath) ?? (caller.startsWith('src/departures/') ? 'door' : undefined)
  )
}

const nobodysRole = new Set(['src/departures/restore/restore.ts', 'src/departures/restore/adopt.ts'])

function isTest(file: string): boolean {
  return file.startsWith('test/') || file.endsWith('.test.ts') || /\/(testing|testing\/.*)\.ts$/.test(file)
}

function roleIn(path: string): ClusterRole | undefined {
  return clusterRoles.find((role) => new RegExp(`(systems|test)/${role}/`).test(path))
}
