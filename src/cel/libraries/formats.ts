import { CelError } from '../errors.ts'
import { overload, type Library } from '../functions.ts'
import { parseTimestamp } from '../moment-text.ts'
import { opaqueType } from '../types.ts'
import { CelOpaque, CelOptional } from '../values.ts'
import { isUrl } from './url.ts'

/** What is wrong with a text, as sentences; none when it has the format. */
type Check = (text: string) => readonly string[]

/** A named format that texts can be held against. */
class Format extends CelOpaque {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly check: Check

  constructor(name: string, check: Check) {
    super()
    this.name = name
    this.check = check
  }

  override toString(): string {
    return this.name
  }
}

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(?:\\.${label})*`
const dns1035 = '[a-z](?:[-a-z0-9]*[a-z0-9])?'
const word = '(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

function shaped(pattern: string, most: number, hint: string): Check {
  const test = new RegExp(`^(?:${pattern})$`)
  return (text) => [
    ...(text.length > most ? [`must be no more than ${most} characters`] : []),
    ...(test.test(text.slice(0, most + 1)) ? [] : [hint]),
  ]
}

function passing(test: (text: string) => boolean, hint: string): Check {
  return (text) => (test(text) ? [] : [hint])
}

/** A name with a dash at its end will get more characters, so the dash is allowed there. */
function asPrefix(check: Check): Check {
  return (text) => check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text)
}

const isLabel = shaped(
  label,
  63,
  'must consist of lower case alphanumeric characters or dashes, and start and end with an alphanumeric character',
)
const isSubdomain = shaped(
  subdomain,
  253,
  'must consist of lower case alphanumeric characters, dashes or dots, and start and end with an alphanumeric character',
)
const isDns1035 = shaped(
  dns1035,
  63,
  'must consist of lower case alphanumeric characters or dashes, start with a letter, and end with an alphanumeric character',
)
const isWord = shaped(
  word,
  63,
  'must consist of alphanumeric characters, dashes, underscores or dots, and start and end with an alphanumeric character',
)

function qualifiedName(text: string): readonly string[] {
  const parts = text.split('/')
  if (parts.length > 2) return ['must be a name, optionally with a DNS subdomain prefix and a slash']
  const [name = '', prefix] = parts.toReversed()
  return [...(prefix === undefined ? [] : isSubdomain(prefix)), ...isWord(name)]
}

const formats = new Map<string, Format>(
  Object.entries<Check>({
    dns1123Label: isLabel,
    dns1123Subdomain: isSubdomain,
    dns1035Label: isDns1035,
    dns1123LabelPrefix: asPrefix(isLabel),
    dns1123SubdomainPrefix: asPrefix(isSubdomain),
    dns1035LabelPrefix: asPrefix(isDns1035),
    qualifiedName,
    labelValue: (text) => (text === '' ? [] : isWord(text)),
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
