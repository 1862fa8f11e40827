import { expect, it } from 'vitest'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { PullRequest } from '../../../forges/forge.ts'
import { poll, withdraw, type PullRequestWork } from './pull-request.ts'

it.each([
  ['promotion/team.app/prod-01234567', ['close 7']],
  ['feature', []],
])('closes the pull request from %s of its number only if that is its own', async (head, done) => {
  const told: string[] = []
  const forge = {
    get: (number: number) =>
      Promise.resolve({ number, url: '', state: 'open', head, body: '' } as unknown as PullRequest),
    close: (number: number) => Promise.resolve(void told.push(`close ${number}`)),
    comment: () => Promise.resolve(''),
  }
  const promotion = {
    id: '0123456789abcdef',
    branch: 'promotion/team.app/prod-01234567',
    strategy: { kind: 'pull-request', baseBranch: 'main' },
    pullRequest: { number: 7, url: '', state: 'open' },
  } as unknown as Promotion
  const access = { forge: () => forge, git: { branches: () => Promise.resolve(new Map()) } }
  await withdraw({ promotion, access } as unknown as PullRequestWork, 'superseded')
  expect(told).toEqual(done)
})

it.each([
  ['no', true],
  ['merge', false],
  ['all', false],
] as const)('merges automatically only while nothing pauses it: %s', async (paused, isMerged) => {
  const pull = { number: 7, url: '', state: 'open', head: 'ours', headSHA: 'abc', body: '' } as unknown as PullRequest
  const merged: number[] = []
  const forge = {
    get: () => Promise.resolve(pull),
    merge: (number: number) => Promise.resolve(merged.push(number) > 0),
    checks: () => Promise.resolve([]),
  }
  const promotion = {
    id: '0123456789abcdef',
    branch: 'ours',
    headSHA: 'abc',
    strategy: { kind: 'pull-request', baseBranch: 'main' },
    pullRequest: { number: 7, url: '', state: 'open' },
  } as unknown as Promotion
  const work = { promotion, spec: { autoMerge: true }, paused, access: { forge: () => forge } }
  await poll(work as unknown as PullRequestWork)
  expect(merged.length > 0).toBe(isMerged)
})
