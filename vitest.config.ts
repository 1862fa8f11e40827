import { defaultExclude } from 'vitest/config'
import { laneConfig } from './test/lane-config.ts'
import { heavyTests } from './test/lanes.ts'

/** Unit tests stand beside their source; `test/` holds what crosses layers. Heavier lanes have configs of their own. */
export default laneConfig({
  include: ['src/**/*.test.ts', 'examples/**/*.test.ts', 'test/*.test.ts', 'test/e2e/**/*.test.ts'],
  exclude: [
    ...defaultExclude,
    ...Object.values(heavyTests)
      .flat()
      .map((path) => (path.endsWith('.ts') ? path : `${path}/**`)),
  ],
  isolate: false,
  maxWorkers: 2,
  testTimeout: 30_000,
  hookTimeout: 60_000,
})
