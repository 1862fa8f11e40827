import { expect, it } from 'vitest'
import { parseAwakeHours } from '../../../apis/awake-hours.ts'
import { downscalerRule } from './downscaler.ts'

it('104: hours that no person wrote are refused unread, and quoted in short', () => {
  const hours = (count: number) => Array.from({ length: count }, () => 'Mon-Fri 08:00-18:00 UTC')
  expect(parseAwakeHours(hours(3).join(';'))).toBeDefined()
  expect(parseAwakeHours(hours(9000).join(';'))).toBeUndefined()
  const annotations = { 'downscaler/uptime': hours(9000).join(',') }
  const rule = downscalerRule([{ metadata: { annotations } } as never], 0)
  expect(rule?.fault).toMatch(/^".{100}" is no time span of kube-downscaler$/)
})
