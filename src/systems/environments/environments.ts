import type { NotificationChannel } from '../../apis/notification-channel.ts'
import { limitedChannel, noticeLimits, openChannel, type ChannelPorts } from '../../notices/open-channel.ts'
import type { Channel } from '../../notices/notice.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import type { Route } from '../../runtime/http/route.ts'
import { classController } from './class-controller.ts'
import { EnvironmentsController, type EnvironmentsOptions } from './controller.ts'
import { keepLinkKey, keepPage } from './keep.ts'

export interface CreateOptions extends Omit<EnvironmentsOptions, 'openChannel' | 'linkKey'> {
  readonly network: ChannelPorts['network']
  /** Defaults to the real channels. */
  readonly openChannel?: (channel: NotificationChannel, ports: ChannelPorts) => Channel
}

/** Creates the controllers of environments and the keep page. The caller runs the ones and serves the other. */
export function createEnvironments(options: CreateOptions): {
  controllers: readonly Controller[]
  routes: readonly Route[]
} {
  const { client, informers, ports, network, dryRun, openChannel: open = openChannel } = options
  const { clock } = ports
  const limits = noticeLimits({ client, clock })
  let key: Promise<string> | undefined
  const linkKey = () =>
    (key ??= keepLinkKey(client).catch((error: unknown) => {
      key = undefined
      throw error
    }))
  const environments = new EnvironmentsController({
    ...options,
    linkKey,
    openChannel: (channel) => limitedChannel(open(channel, { client, clock, network }), limits),
  })
  return {
    controllers: [
      environments.controller,
      environments.pulls.requests.controller,
      classController({ client, informers, ports }),
    ],
    routes: keepPage({ client, clock, linkKey, dryRun }),
  }
}
