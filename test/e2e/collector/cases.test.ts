import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { caseNumbersIn } from '../../case-numbers.ts'

const root = join(import.meta.dirname, '../../..')
const folders = ['src/systems/collector', 'test/e2e/collector', 'test/kubernetes', 'src/cli']

/** What Krake's, Kubernetes', Crossplane's and cli-utils' own tests check, and the nasty cases of our own; some numbers were never given. */
const unused = new Set([95, 106, 107, 117, 118, 124])
const cases = Array.from({ length: 125 }, (_, index) => index + 1).filter((number) => !unused.has(number))

const runtime = 'src/runtime'
/** Cases of parts that all systems share: the tests that prove them, by their names. */
const elsewhere: Readonly<Record<number, readonly (readonly [file: string, name: string])[]>> = {
  20: [
    [
      `${runtime}/controller/work-queue.test.ts`,
      'never hands a key to two workers, never loses one, never keeps one twice',
    ],
    [
      `${runtime}/controller/work-queue.test.ts`,
      'gives a key that was added while taken a second turn, at its highest priority',
    ],
    [
      `${runtime}/controller/controller.test.ts`,
      'looks again exactly when the reconcile asked to, and its last answer counts',
    ],
    [`${runtime}/controller/alarms.test.ts`, 'keeps the earlier time when asked to'],
    [`${runtime}/controller/alarms.test.ts`, 'rings no more for a user who has left'],
  ],
  21: [
    [`${runtime}/cache/informer.test.ts`, 'shows what is there, then what happens, each once'],
    [
      `${runtime}/cache/informer.test.ts`,
      'ends up with exactly what the server has, through any sequence of changes and failures',
    ],
    [`${runtime}/cache/informer.test.ts`, 'keeps what it has, and says so, while the server cannot be reached'],
    [`${runtime}/time/backoff.test.ts`, 'draws decorrelated waits between the base and three times the last'],
  ],
  22: [
    [
      `${runtime}/controller/controller.test.ts`,
      'tries again with growing waits, forgets failures after a success, and keeps failures apart',
    ],
    [`${runtime}/controller/controller.test.ts`, 'survives a reconcile that throws before it begins'],
    [`${runtime}/controller/controller.test.ts`, 'finishes what is under way when it stops, and begins nothing new'],
  ],
  26: [['src/systems/collector/graph/graph.test.ts', 'always agrees with a naive model']],
  85: [['src/systems/collector/nasty-bonds.test.ts', '115: what a Bond kept from following its owner']],
  86: [
    [
      'test/kubernetes/bonds.test.ts',
      'refuses the deletion of what a Bond denies, and of its namespace, until the last user is gone',
    ],
  ],
  87: [
    [
      'src/systems/collector/nasty-bonds.test.ts',
      'protects until the last user is really gone, though the Bond was deleted first',
    ],
  ],
  88: [['src/systems/collector/bonds/bond-controller.test.ts', 'holds nothing without permission']],
  90: [
    [
      'src/systems/collector/krake-cases.test.ts',
      'stands for Bonds: a depends-on annotation binds, and lets go when it is taken away',
    ],
  ],
}

/** Cases that no test can bear, and why. */
const without: Readonly<Record<number, string>> = {
  59: 'kube-apiserver does not ask for it unless its OwnerReferencesPermissionEnforcement is switched on; a Bond asks for it always (bond-authority.ts)',
  71: 'no server of ours calls conversion webhooks: a definition that wants one is refused; a kind that cannot be listed is case 33',
  89: 'nothing is moved between clusters: an object comes back where it was, owners first and with their new uids (restore)',
}

it('every case has a test that bears its number or is named here, or a reason why not', () => {
  const named = new Set([...caseNumbersIn(folders, numbers)].flatMap(eachOf))
  expect(cases.filter((number) => !named.has(number) && !(number in elsewhere) && !(number in without))).toEqual([])
  expect(Object.keys(without).filter((number) => named.has(Number(number)) || number in elsewhere)).toEqual([])
  expect([...named].filter((number) => !cases.includes(number))).toEqual([])
})

it.each(Object.entries(elsewhere))('case %s is proved where it is said to be', (_, proofs) => {
  const missing = proofs.filter(([file, name]) => !readFileSync(join(root, file), 'utf8').includes(name))
  expect(missing).toEqual([])
})

/** `23:`, `60, 79★:`, `44–46:`, at the beginning of a test's name or of a line of its table. */
const numbers = /(?:['"`](?=[\d–★, ]+:)|(?<=\[\s*)'(?=[\d–★, ]+',))((?:\d+(?:–\d+)?★?(?:, )?)+)/g

function eachOf(words: string): readonly number[] {
  const [from = 0, to = from] = words.replaceAll(/[★,]/g, '').split('–').map(Number)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
