import { laneConfig } from '../lane-config.ts'

/** The lane that does what the documentation says, on the real product, in real time. */
export default laneConfig({
  include: ['test/docs/**/*.test.ts'],
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 120_000,
})
