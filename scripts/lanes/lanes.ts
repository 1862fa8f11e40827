/** A part of the tests with a script of its own. */
export interface Lane {
  readonly script: string
  /** What it needs beyond Node and npm. */
  readonly needs?: string
  /** Part of what a change must pass; others are run before a release. */
  readonly isInCi: boolean
  readonly env?: Readonly<Record<string, string>>
}

/**
 * All lanes, in an order in which two at once end together: the most telling one first, beside it the one that builds the Go programs at low priority; then those that
 * need none of these programs, each group with its longest first.
 */
export const lanes: readonly Lane[] = [
  { script: 'test', isInCi: true },
  { script: 'test:kubernetes', needs: 'Go', isInCi: true },
  { script: 'test:promoter', needs: 'git, OpenSSH, GnuPG', isInCi: true, env: { PROMOTER_HISTORIES: '10' } },
  { script: 'test:janitor', needs: 'Python, Chromium', isInCi: true, env: { SOJOURN_KILLS: '15' } },
  { script: 'test:processes', isInCi: true },
  { script: 'test:tenants', needs: 'Go', isInCi: true },
  { script: 'test:dayTwo', needs: 'Go', isInCi: true },
  { script: 'test:dashboard', needs: 'Chromium, Go', isInCi: true },
  { script: 'test:flux', needs: 'Go', isInCi: true },
  { script: 'test:clients', needs: 'Go', isInCi: true },
  { script: 'test:package', isInCi: true },
  { script: 'test:conformance', needs: 'Go', isInCi: false },
  { script: 'test:docs', needs: 'Go', isInCi: false },
  { script: 'test:access', needs: 'Go', isInCi: false },
  { script: 'test:image', needs: 'root, buildah', isInCi: false },
  { script: 'test:gitea', needs: 'Go, a C compiler', isInCi: false },
]
