import { Counters } from '../routing/counters.ts'
import type { DataPlane, TargetLoad } from './data-plane.ts'

/** A data plane without requests: for forecasts, which assume none, and where proxies are processes of their own. */
export class SilentDataPlane implements DataPlane {
  readonly counters: Counters[] = [new Counters()]

  setRoute(): void {}
  removeRoute(): void {}
  setTarget(): void {}
  unlisten(): void {}

  drain(): Promise<TargetLoad> {
    return Promise.resolve({ busy: 0, waiting: 0 })
  }

  setCertificates(): Promise<readonly []> {
    return Promise.resolve([])
  }

  listen(): Promise<number> {
    return Promise.resolve(0)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
