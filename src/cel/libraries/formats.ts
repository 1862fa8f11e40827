import {
  labelFaults,
  labelValueFaults,
  qualifiedNameFaults,
  subdomainFaults,
  type NameCheck,
} from '../../kube/names.ts'
import { CelError } from '../errors.ts'
import { overload, type Library } from '../functions.ts'
import { parseTimestamp } from '../moment-text.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque, CelOptional } from '../values.ts'
import { isUrl } from './url.ts'

/** A named format that texts can be held against. */
class Format extends CelOpaque {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly check: NameCheck

  constructor(name: string, check: NameCheck) {
    super()
    this.name = name
    this.check = check
  }

  override toString(): string {
    return this.name
  }
}

function passing(test: (text: string) => boolean, hint: string): NameCheck {
  return (text) => (test(text) ? [] : [hint])
}

/** A name with a dash at its end will get more characters, so the dash is allowed there. */
function asPrefix(check: NameCheck): NameCheck {
  return (text) => check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text)
}

const dns1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

function dns1035Faults(text: string): readonly string[] {
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
  return [...(text.length > 63 ? ['must be no more than 63 characters'] : []), ...(dns1035.test(text) ? [] : [rule])]
}

const formats = new Map<string, Format>(
  Object.entries<NameCheck>({
    dns1123Label: labelFaults,
    dns1123Subdomain: subdomainFaults,
    dns1035Label: dns1035Faults,
    dns1123LabelPrefix: asPrefix(labelFaults),
    dns1123SubdomainPrefix: asPrefix(subdomainFaults),
    dns1035LabelPrefix: asPrefix(dns1035Faults),
    qualifiedName: qualifiedNameFaults,
    labelValue: labelValueFaults,
    uri: passing(isUrl, 'must be a valid URI'),
    uuid: passing((text) => /^[0-9A-F]{8}(?:-?[0-9A-F]{4}){3}-?[0-9A-F]{12}$/i.test(text), 'must be a UUID'),
    byte: passing((text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text), 'must be valid base64'),
    date: passing((text) => !(parseTimestamp(`${text}T00:00:00Z`) instanceof CelError), 'must be a date as YYYY-MM-DD'),
    datetime: passing(
      (text) => !(parseTimestamp(text.toUpperCase()) instanceof CelError),
      'must be an RFC 3339 date and time',
    ),
  }).map(([name, check]) => [name, new Format(name, check)]),
)

/** Kubernetes' format library. */
export const formatLibrary: Library = {
  name: 'kubernetes-format',
  overloads: [
    overload(
      'format.named(string) -> optional(kubernetes.NamedFormat)',
      (_frame, name: string) => new CelOptional(formats.get(name)),
    ),
    ...Array.from(formats.values(), (format) =>
      overload(`format.${format.name}() -> kubernetes.NamedFormat`, () => format),
    ),
    overload(
      'kubernetes.NamedFormat.validate(string) -> optional(list(string))',
      (frame, format: Format, text: string) => {
        frame.charge(4 + (text.length >> 3))
        const wrong = format.check(text)
        return wrong.length ? new CelOptional(wrong) : CelOptional.none
      },
    ),
  ],
  types: [opaqueType('kubernetes.NamedFormat')],
}
