import { laneConfig } from '../lane-config.ts'

/** The attacks of tenants, against the embedded server and against a real kube-apiserver with the installed accounts. */
export default laneConfig({
  include: ['test/tenants/**/*.test.ts'],
  globalSetup: 'test/kubernetes/build-tools.ts',
  fileParallelism: false,
  testTimeout: 180_000,
  hookTimeout: 180_000,
})
