import { expect, it } from 'vitest'
import { isLowerVersion } from './semver.ts'

it.each([
  ['1.0.0', '1.0.1', true],
  ['1.9.0', '1.10.0', true],
  ['1.0.0-rc.1', '1.0.0', true],
  ['1.0.0-alpha', '1.0.0-alpha.1', true],
  ['1.0.0-2', '1.0.0-10', true],
  ['1.0.0-1', '1.0.0-a', true],
  ['v1.0.0', '1.0.1', true],
  ['1.0.0', '1.0.0', false],
  ['1.0.0', '1.0.0-rc.1', false],
  ['1.0.0+a', '1.0.0+b', false],
  ['2.0.0', '1.0.0', false],
  ['main@sha1:abc', '1.0.0', false],
  ['1.0.0', 'main', false],
])('%s is lower than %s: %s', (left, right, lower) => expect(isLowerVersion(left, right)).toBe(lower))
