import { laneConfig } from '../lane-config.ts'

/** Every case of the systems and the door again, with a note of each request their code makes. */
export default laneConfig({
  include: [
    'src/systems/**/*.test.ts',
    'src/departures/**/*.test.ts',
    'src/{app,admission,forecast,queries,git,forges,notices,helm}/**/*.test.ts',
    'examples/demo/*.test.ts',
    'test/promoter/**/*.test.ts',
    'test/access/**/*.test.ts',
  ],
  setupFiles: ['test/access/note-requests.ts'],
  isolate: false,
  maxWorkers: 2,
  testTimeout: 120_000,
  hookTimeout: 120_000,
})
