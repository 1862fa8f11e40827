import { expect, it } from 'vitest'
import { factsIn } from '../../../test/e2e/activator/sojourn-process.ts'
import { facts } from './output.ts'

it('writes facts on one line that can be read back, whatever a path contains', () => {
  const api = 'https://127.0.0.1:7443'
  for (const folder of [
    '/plain',
    '.sojourn',
    '/with space',
    '/quo"ted',
    '/back\\slash',
    '/a=b',
    '/new\nline',
    '/tab\there',
  ])
    expect(factsIn(facts({ api, kubeconfig: `${folder}/kubeconfig`, tls: undefined }))).toEqual({
      api,
      kubeconfig: `${folder}/kubeconfig`,
    })
  expect(facts({ api, kubeconfig: '.sojourn/kubeconfig' })).toBe(`api=${api} kubeconfig=.sojourn/kubeconfig`)
  expect(facts({ kubeconfig: '/with space/kubeconfig' })).toBe('kubeconfig="/with space/kubeconfig"')
})
