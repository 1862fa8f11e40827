/** The e-mail addresses in a text, separated by commas, spaces or semicolons; anything else is left out. */
export function addressesIn(text: string): readonly string[] {
  return text
    .split(/[,;\s]+/)
    .map((part) => part.replace(/^mailto:/i, ''))
    .filter((part) => part.length <= 254 && address.test(part))
}

const address =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}))+$/
