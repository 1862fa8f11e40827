import type { Use } from '../../model/resource.ts'
import type { AwsResource, AwsType } from './aws-type.ts'
import type { Evidence } from './evidence.ts'
import { askEach } from './listing.ts'
import type { AwsSession } from './session.ts'

/** A type by what AWS returns for it. */
export interface Definition<Raw> extends Pick<AwsType, 'name' | 'absent' | 'tag'> {
  /** All descriptions; throws when the listing may be incomplete. */
  all(session: AwsSession): Promise<readonly Raw[]>
  /** One description, fresh. */
  one(session: AwsSession, id: string): Promise<Raw | undefined>
  describe(raw: Raw, session: AwsSession): AwsResource | Promise<AwsResource>
  /** Reads the evidence once, and returns what it says about each resource. */
  use(evidence: Evidence): Promise<(raw: Raw) => Use>
  remove(session: AwsSession, raw: Raw, options: { readonly force: boolean }): Promise<unknown>
}

export function defineType<Raw>({ name, absent, tag, ...type }: Definition<Raw>): AwsType {
  return {
    name,
    absent,
    ...(tag ? { tag } : {}),
    list: async (session) => askEach(await type.all(session), async (raw) => type.describe(raw, session)),
    async read(session, id) {
      const raw = await type.one(session, id)
      return raw === undefined ? undefined : type.describe(raw, session)
    },
    async detect(evidence) {
      const judge = await type.use(evidence)
      return ({ raw }) => judge(raw as Raw)
    },
    async remove(session, { raw }, options) {
      await type.remove(session, raw as Raw, options)
    },
  }
}
