import { laneConfig } from '../lane-config.ts'
import { heavyTests } from '../lanes.ts'

const lane = process.env['LANE'] as keyof typeof heavyTests
if (!(lane in heavyTests)) throw new Error(`LANE is "${lane}": it must be one of ${Object.keys(heavyTests).join(', ')}`)

/** The lanes of `test/lanes.ts`, one at a time. */
export default laneConfig({
  include: heavyTests[lane].map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`)),
  ...(lane !== 'processes' ? { globalSetup: 'test/kubernetes/build-tools.ts' } : {}),
  isolate: false,
  maxWorkers: 2,
  testTimeout: 60_000,
  hookTimeout: 60_000,
})
