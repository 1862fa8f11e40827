/** The e-mail addresses in a text, separated by commas, spaces or semicolons; anything else is left out. */
export function addressesIn(text: string): readonly string[] {
  return text
    .split(/[,;\s]+/)
    .map((part) => part.replace(/^mailto:/i, ''))
    .filter((part) => part.length <= 254 && address.test(part))
}

/** The addresses that a tag or annotation names, one per mailbox; none of a text with control characters, which could add mail headers. */
export function ownersIn(text: string): readonly string[] {
  return /\p{Cc}/u.test(text.trim()) ? [] : distinctBy(addressesIn(text), mailboxOf)
}

/** The mailbox of an address, in lower case and without its tag: `ann@x.org` for `Ann+ci@x.org`. Limits count by it; mail goes to the address itself. */
export function mailboxOf(address: string): string {
  return address.toLowerCase().replace(/^([^+@]+)\+[^@]*@/, '$1@')
}

/** The addresses without repetitions in another case. */
export function distinctAddresses(addresses: readonly string[]): readonly string[] {
  return distinctBy(addresses, (each) => each.toLowerCase())
}

function distinctBy(addresses: readonly string[], keyOf: (address: string) => string): readonly string[] {
  return [...Map.groupBy(addresses, keyOf).values()].flatMap(([first = '']) => first)
}

/** Tenants write owners: one text names at most this many recipients, so that no annotation mails to a list. */
export const maxOwners = 5

const address =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}))+$/
