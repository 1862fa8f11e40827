import { describe, expect, it } from 'vitest'
import { compare, type Asked } from './compare.ts'
import { refusedOf, unusedOf, type Request } from './rights.ts'
import { roleOf } from './who-asked.ts'

const asked = (what: string, namespace?: string): Request => ({ what, namespace, isAllowed: true })
const home = 'sojourn-system'

it('a right that nobody asked for is unused', () =>
  expect(unusedOf([{ what: '/secrets get' }], [asked('/secrets list', 'team')], home)).toEqual(['/secrets get']))

it('a right for every namespace is unused by somebody who stays in ours', () => {
  const everywhere = [{ what: '/secrets get' }]
  expect(unusedOf(everywhere, [asked('/secrets get', home)], home)).toEqual(['/secrets get'])
  expect(unusedOf(everywhere, [asked('/secrets get', 'team')], home)).toEqual([])
  expect(unusedOf([{ what: '/secrets get', namespace: home }], [asked('/secrets get', home)], home)).toEqual([])
})

it('whoever watches needs to list, where a server cannot begin a watch with everything', () =>
  expect(unusedOf([{ what: '/pods list' }, { what: '/pods watch' }], [asked('/pods watch')], home)).toEqual([]))

it('what was refused was not used, and is missing', () => {
  const refused = { ...asked('/pods delete', 'team'), isAllowed: false }
  expect(unusedOf([{ what: '/pods delete' }], [refused], home)).toEqual(['/pods delete'])
  expect(refusedOf([refused, refused, asked('/pods get')])).toEqual(['/pods delete in team'])
})

describe('what the code of a role was seen to ask for', () => {
  const wish = (given: Partial<Asked>): Asked => ({
    role: 'collector',
    verb: 'delete',
    group: 'coordination.k8s.io',
    resource: 'leases',
    subresource: '',
    isOwn: false,
    ...given,
  })

  it('is refused when no rule has it, and is its users to grant where it is theirs', () => {
    expect(compare('collector', [wish({})])).toEqual({ refused: [], onTargets: ['delete'] })
    expect(compare('collector', [wish({ isOwn: true })]).refused).toEqual(['coordination.k8s.io/leases delete'])
    expect(compare('cleaner', [wish({ role: 'door', group: 'sojourn.dev', resource: 'bonds' })]).refused).toEqual([
      'sojourn.dev/bonds delete',
    ])
    const definition = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' }
    expect(compare('cleaner', [wish({ role: 'door', ...definition })])).toEqual({ refused: [], onTargets: ['delete'] })
    expect(compare('collector', [wish(definition)]).refused).toEqual([
      'apiextensions.k8s.io/customresourcedefinitions delete',
    ])
  })

  it('is told by whose code is nearest', () => {
    const stack = (...files: readonly string[]) => files.map((file) => `at x (/a/${file}:1:1)`).join('\n')
    const client = 'src/client/client.ts'
    const door = 'src/departures/door/door.ts'
    const test = { testPath: '/a/src/departures/door.test.ts' }
    expect(roleOf(stack(client, door, 'src/departures/door/door.test.ts'), test)).toBe('door')
    expect(roleOf(stack(client, 'src/departures/records/cascade-recorder.ts'), test)).toBe('collector')
    expect(roleOf(stack(client, door, 'src/systems/janitor/work/work.ts'), test)).toBe('janitor')
    expect(roleOf(stack(client, 'src/departures/door/door.test.ts'), test)).toBeUndefined()
  })
})
