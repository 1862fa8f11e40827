/**
 * Tests that need more than Node and npm, or many seconds of waiting, by lane. `npm test` runs all others. The name is that of the npm script, `test:NAME`.
 */
export const heavyTests = {
  /** kubectl, helm, h2spec and a client-go program, which Go builds. */
  clients: ['test/e2e/kubectl', 'test/e2e/helm', 'test/e2e/client-go', 'test/e2e/chart', 'test/e2e/h2spec'],
  /** Processes of their own that sleep, wake and are killed. */
  processes: [
    'test/e2e/activator',
    'test/e2e/collector',
    'test/cascade-kills.test.ts',
    'test/kills.test.ts',
    'examples/demo/play.test.ts',
  ],
  /** A browser. */
  dashboard: ['test/e2e/dashboard'],
} as const satisfies Record<string, readonly string[]>
