import { createHash } from 'node:crypto'
import type { Subject } from '../../../../departures/subjects/subject.ts'
import type { KubeObject } from '../../../../kube/object.ts'
import { formatTime } from '../../../../kube/time.ts'
import { cloudCluster } from '../../verdict/protection.ts'
import type { AwsResource, AwsType } from './aws-type.ts'
import type { AwsSession } from './session.ts'

export const awsApiVersion = 'aws/v1'

/** A cloud resource withTagsAsAnnotations as an object: its tags are its annotations, its version a digest of what AWS says of it. */
export function awsObject({ name: kind }: AwsType, { id, uid, createdAt, tags, raw }: AwsResource): KubeObject {
  return {
    apiVersion: awsApiVersion,
    kind,
    metadata: {
      name: id,
      uid,
      resourceVersion: versionOf({ raw, tags }),
      ...(createdAt === undefined ? {} : { creationTimestamp: formatTime(createdAt) }),
      annotations: tags,
    },
    spec: JSON.parse(JSON.stringify(raw)) as unknown,
  }
}

/** The door's view of one cloud resource. */
export function awsSubject(
  session: AwsSession,
  type: AwsType,
  id: string,
  { force }: { readonly force: boolean },
): Subject {
  const read = () => readAwsResource(session, type, id)
  return {
    cluster: cloudCluster(session),
    ref: { apiVersion: awsApiVersion, kind: type.name, name: id },
    async read() {
      const thing = await read()
      return thing && awsObject(type, thing)
    },

    async remove({ uid, resourceVersion }) {
      // AWS takes no preconditions: the nearest thing is to look once more, right before.
      const thing = await read()
      if (!thing) return 'gone'
      if (thing.uid !== uid || versionOf(thing) !== resourceVersion) return 'changed'
      try {
        await type.remove(session, thing, { force })
      } catch (error) {
        if (!isAbsent(type, error)) throw error
      }
      return 'gone'
    },

    async countKind() {
      return (await type.list(session)).length
    },
  }
}

/** One resource as it is now; undefined when AWS says that there is none. */
export async function readAwsResource(
  session: AwsSession,
  type: AwsType,
  id: string,
): Promise<AwsResource | undefined> {
  try {
    return await type.read(session, id)
  } catch (error) {
    if (isAbsent(type, error)) return undefined
    throw error
  }
}

export function isAbsent({ absent }: AwsType, error: unknown): boolean {
  return error instanceof Error && absent.includes(error.name)
}

/** Changes with anything that AWS says of a thing, tags included, which some services tell apart from the rest. */
function versionOf({ raw, tags }: Pick<AwsResource, 'raw' | 'tags'>): string {
  const sorted = Object.entries(tags).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([raw, sorted]))
    .digest('hex')
    .slice(0, 16)
}
