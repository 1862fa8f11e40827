import { expect, it } from 'vitest'
import { refusedOf, unusedOf, type Request } from './rights.ts'

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
