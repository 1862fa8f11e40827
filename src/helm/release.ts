/** A Helm release to uninstall. */
export interface Release {
  readonly name: string
  readonly driver: 'secret' | 'configmap'
  readonly disableHooks: boolean
  readonly timeoutMs: number
}
