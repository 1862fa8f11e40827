import { createHash } from 'node:crypto'
import type { Subject } from '../../../../departures/subjects/subject.ts'
import type { KubeObject } from '../../../../kube/object.ts'
import { formatTime } from '../../../../kube/time.ts'
import { cloudCluster } from '../../verdict/protection.ts'
import type { AwsResource, AwsType } from './aws-type.ts'
import type { AwsSession } from './session.ts'

export const awsApiVersion = 'aws/v1'

/** A cloud resource as an object: its tags are the annotations, its resourceVersion is a digest of its description. */
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

/** A cloud resource as a subject of the door, which checks and records its deletion. */
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
      const resource = await read()
      return resource && awsObject(type, resource)
    },

    async remove({ uid, resourceVersion }) {
      // AWS has no preconditions for deletions. Reading right before the call keeps the race as short as possible.
      const resource = await read()
      if (!resource) return 'gone'
      if (resource.uid !== uid || versionOf(resource) !== resourceVersion) return 'changed'
      try {
        await type.remove(session, resource, { force })
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

/** The current state of one resource; undefined when AWS reports that it does not exist. */
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

/** Changes with the description or the tags, which some services return separately. */
function versionOf({ raw, tags }: Pick<AwsResource, 'raw' | 'tags'>): string {
  const sorted = Object.entries(tags).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([raw, sorted]))
    .digest('hex')
    .slice(0, 16)
}
