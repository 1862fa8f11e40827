import { notFound } from '../../../kube/status-error.ts'
import type { Decision, View } from '../../store/store.ts'
import { decideCreate } from './create-object.ts'
import { decodeBody, type DecodedBody } from './decode-body.ts'
import type { UpdateRequest, WriteResult } from '../contract/request.ts'
import { reviseObject } from './revise-object.ts'
import { decideScaleUpdate } from './scale-object.ts'
import type { WritePorts } from '../contract/write-object.ts'
import { parseWriteOptions, type WriteOptions } from '../contract/write-options.ts'

/** Replaces an object or a subresource (PUT). */
export async function updateObject(ports: WritePorts, request: UpdateRequest): Promise<WriteResult> {
  const options = parseWriteOptions('UpdateOptions', request)
  if (request.subresource === 'scale')
    return ports.write((view) => decideScaleUpdate(ports, view, { request, options }))
  const body = decodeBody(request.type, request, options)
  return ports.write((view) => decideUpdate(ports, view, { request, options, body }))
}

interface Update {
  readonly request: UpdateRequest
  readonly options: WriteOptions
  readonly body: DecodedBody
}

function decideUpdate(ports: WritePorts, view: View, { request, options, body }: Update): Decision<WriteResult> {
  const { type, name, namespace = '', subresource = '', user } = request
  const existing = view.get({ resource: type.resource, namespace, name })
  if (!existing) {
    if (!type.rules.allowsCreateOnUpdate || subresource) throw notFound(type, name)
    const { resourceVersion: _version, ...metadata } = body.object.metadata
    const object = { ...body.object, metadata: { ...metadata, name } }
    return decideCreate(ports, view, { type, namespace, object, user, options, warnings: body.warnings })
  }
  const { document, changes, warnings } = reviseObject(ports, view, {
    type,
    name,
    namespace,
    subresource,
    user,
    options,
    current: type.serve(existing.document),
    proposed: body.object,
    isReplacement: true,
  })
  return {
    answer: { document, created: false, warnings: [...body.warnings, ...warnings] },
    changes,
  }
}
