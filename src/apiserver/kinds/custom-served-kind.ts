import { apiVersionOf, groupResource, type GroupVersionKind, type KubeObject } from '../../kube/object.ts'
import { applyDefaults } from '../schema/custom/apply-defaults.ts'
import { compileRules } from '../schema/custom/cel-rules.ts'
import { customSchema } from '../schema/custom/custom-schema.ts'
import { validateCustom } from '../schema/custom/validate-custom.ts'
import { decodeObject } from '../schema/decode/decode.ts'
import type { ObjectSchema } from '../schema/types/object-schema.ts'
import { validateCreate, validateUpdate } from '../schema/validation/validate-object.ts'
import { Document, maxObjectSize } from '../store/document.ts'
import type { CustomKind } from './contract/custom-kind.ts'
import { hasTrueCondition, type Definition, type DefinitionVersion } from './definitions/definition.ts'
import { plainRules } from './rules/kind-rules.ts'
import { withoutFinalizerNameErrors } from './rules/finalizer-name-errors.ts'
import { fieldValues, selectableFields } from './selectable-fields.ts'
import type { ScalePaths, ServedKind, Subresource } from './contract/served-kind.ts'

/** The versions of a CRD's kind; none before the CRD is Established. `since` is the revision of its current schema. */
export function customKinds(definition: Definition, since: number): readonly ServedKind[] {
  if (!hasTrueCondition(definition, 'Established')) return []
  const { group, versions } = definition.spec
  const { kind } = acceptedNames(definition)
  // Lazy, so that a server with a hundred CRDs does not compile a hundred schemas before it is ready.
  const schemas = new Map(
    versions.map((version) => {
      const gvk = { group, version: version.name, kind }
      return [apiVersionOf(gvk), lazily(() => customSchema(gvk, version.schema?.openAPIV3Schema))] as const
    }),
  )
  return versions.map((version) => new CustomVersion(definition, version, { schemas, since }).served())
}

/** Builds the ServedKind of one version of a custom kind. */
class CustomVersion {
  readonly #definition: Definition
  readonly #version: DefinitionVersion
  readonly #schemas: ReadonlyMap<string, () => ObjectSchema>
  readonly #since: number
  readonly #gvk: GroupVersionKind
  readonly #apiVersion: string

  constructor(
    definition: Definition,
    version: DefinitionVersion,
    options: { readonly schemas: ReadonlyMap<string, () => ObjectSchema>; readonly since: number },
  ) {
    const { kind } = acceptedNames(definition)
    this.#definition = definition
    this.#version = version
    this.#schemas = options.schemas
    this.#since = options.since
    this.#gvk = { group: definition.spec.group, version: version.name, kind }
    this.#apiVersion = apiVersionOf(this.#gvk)
  }

  get #schema(): ObjectSchema {
    return this.#schemas.get(this.#apiVersion)?.() ?? customSchema(this.#gvk, undefined)
  }

  served(): ServedKind {
    const { group, scope, versions } = this.#definition.spec
    const {
      plural,
      singular = '',
      kind,
      listKind = '',
      shortNames = [],
      categories = [],
    } = acceptedNames(this.#definition)
    const gvk = this.#gvk
    const schemaHere = () => this.#schema
    const fields = (this.#version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, ''))
    const selectable = selectableFields('', fields)
    const storage = versions.find((version) => version.storage)?.name ?? this.#version.name
    const hasStatus = this.#version.subresources?.status !== undefined
    return {
      ...gvk,
      plural,
      namespaced: scope === 'Namespaced',
      singular,
      listKind,
      shortNames,
      categories,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: this.#subresources(),
      resource: groupResource({ group, plural }),
      storageVersion: apiVersionOf({ group, version: storage }),
      custom: this.#custom(),
      get schema() {
        return schemaHere()
      },
      rules: {
        ...plainRules,
        hasGeneration: true,
        allowsUnconditionalUpdate: false,
        hasStatus,
        statusMetadata: 'none',
      },
      selectableFields: selectable,
      scale: this.#scale(),
      fieldsOf: (object) => fieldValues(object, selectable),
      serve: (document) => this.#serve(document),
      toStored: (object) => ({ ...object, apiVersion: apiVersionOf({ group, version: storage }), kind }),
      decode: (value) => decodeObject(this.#schema, value),
      default: (object, { isApplied } = { isApplied: false }) =>
        this.#default(object, { keepsNulls: isApplied, maxAdded: maxObjectSize }),
      ...this.#validation(),
      schemaOf: (apiVersion) => this.#schemas.get(apiVersion)?.(),
    }
  }

  #custom(): CustomKind {
    const { schema, additionalPrinterColumns, deprecated, deprecationWarning, subresources, name } = this.#version
    const { metadata, spec } = this.#definition
    return {
      definition: metadata.name,
      openAPIV3Schema: schema?.openAPIV3Schema,
      printerColumns: additionalPrinterColumns ?? [],
      hasStatus: subresources?.status !== undefined,
      deprecationWarning: deprecated
        ? deprecationWarning || `${spec.group}/${name} ${spec.names.kind} is deprecated`
        : undefined,
      since: this.#since,
    }
  }

  #subresources(): readonly Subresource[] {
    const { subresources } = this.#version
    const verbs = ['get', 'patch', 'update']
    return [
      ...(subresources?.status ? [{ ...this.#gvk, name: 'status', verbs }] : []),
      ...(subresources?.scale ? [{ group: 'autoscaling', version: 'v1', kind: 'Scale', name: 'scale', verbs }] : []),
    ]
  }

  #scale(): ScalePaths | undefined {
    const scale = this.#version.subresources?.scale
    if (!scale) return undefined
    const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale
    return {
      specReplicasPath: specReplicasPath.slice(1),
      statusReplicasPath: statusReplicasPath.slice(1),
      ...(labelSelectorPath ? { labelSelectorPath: labelSelectorPath.slice(1) } : {}),
    }
  }

  #validation(): Pick<ServedKind, 'validateCreate' | 'validateUpdate'> {
    const gvk = this.#gvk
    const prepared = lazily(() => {
      const { structural = {} } = this.#schema
      const { rules } = compileRules(structural)
      return { structural, options: rules ? { rules } : {} }
    })
    return {
      validateCreate(object) {
        const { structural, options } = prepared()
        return [
          ...withoutFinalizerNameErrors(validateCreate(gvk, object)),
          ...validateCustom(structural, object, options),
        ]
      },
      validateUpdate(object, old) {
        const { structural, options } = prepared()
        return [
          ...withoutFinalizerNameErrors(validateUpdate(gvk, object, old)),
          ...validateCustom(structural, object, { ...options, old }),
        ]
      },
    }
  }

  /**
   * Versions differ only in apiVersion, so it is replaced in the text without parsing; it is always the first field.
   */
  #serve(document: Document): Document {
    if (document.revision < this.#since) return this.#reshape(document)
    const prefix = `{"apiVersion":"${this.#apiVersion}",`
    if (document.text.startsWith(prefix)) return document
    return new Document(document.revision, prefix + document.text.slice(document.text.indexOf(',') + 1))
  }

  /** Prunes and defaults a document that was written under an older schema. */
  #reshape(document: Document): Document {
    const { object } = decodeObject(this.#schema, { ...document.value, apiVersion: this.#apiVersion })
    const { apiVersion, kind, metadata, ...rest } = this.#default(object)
    return new Document(document.revision, JSON.stringify({ apiVersion, kind, metadata, ...rest }))
  }

  #default(object: KubeObject, options = {}): KubeObject {
    return applyDefaults(this.#schema.structural ?? {}, object, options)
  }
}

/** Computes a value on first use. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

function acceptedNames({ spec, status }: Definition) {
  return status?.acceptedNames?.kind ? status.acceptedNames : spec.names
}
