import { laneConfig } from '../lane-config.ts'

/** The promoter's lane with a real git and a stand-in forge. */
export default laneConfig({
  include: ['test/forge/**/*.test.ts', 'test/promoter/**/*.test.ts'],
  maxWorkers: 2,
  testTimeout: 180_000,
  hookTimeout: 180_000,
})
