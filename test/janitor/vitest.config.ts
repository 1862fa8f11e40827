import { laneConfig } from '../lane-config.ts'

/** The janitor's lane with real parts around it: moto, mail and web servers, processes that are killed. */
export default laneConfig({
  include: ['test/janitor/**/*.test.ts'],
  env: { LANE: 'janitor' },
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 300_000,
})
