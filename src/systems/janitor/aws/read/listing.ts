import { InventoryError } from '../../model/resource.ts'

/** A paginated listing: its maximum page size, and the field of a page that holds its items. */
interface Listing<Name> {
  readonly what: string
  readonly pageSize: number
  readonly items: Name
}

type ItemOf<Page, Name extends keyof Page> = NonNullable<Page[Name]> extends readonly (infer Item)[] ? Item : never

/**
 * Every item of a listing, or an InventoryError. A full last page may mean a truncated listing: it is then read again with
 * another page size, and both readings must have the same number of items.
 */
export async function listCompletely<Page, Name extends keyof Page>(
  listing: Listing<Name>,
  pages: (pageSize: number) => AsyncIterable<Page>,
): Promise<readonly ItemOf<Page, Name>[]> {
  const first = await collect(listing, pages)
  if (!first.lastWasFull) return first.items
  const second = await collect({ ...listing, pageSize: listing.pageSize - 1 }, pages)
  if (second.items.length === first.items.length) return first.items
  throw new InventoryError(`${listing.what}: the listing is truncated after ${first.items.length} items`)
}

async function collect<Page, Name extends keyof Page>(
  { what, pageSize, items }: Listing<Name>,
  pages: (pageSize: number) => AsyncIterable<Page>,
): Promise<{ readonly items: readonly ItemOf<Page, Name>[]; readonly lastWasFull: boolean }> {
  const all: ItemOf<Page, Name>[] = []
  let lastWasFull = false
  try {
    for await (const page of pages(pageSize)) {
      const found = page[items] as readonly ItemOf<Page, Name>[] | undefined
      if (!found) throw new InventoryError(`${what}: a page of the response has no items`)
      all.push(...found)
      lastWasFull = found.length >= pageSize
    }
  } catch (error) {
    throw inventoryError(what, error)
  }
  return { items: all, lastWasFull }
}

/** Throws for a page without items: the listing would be incomplete. */
export function requireItems<T>(items: readonly T[] | undefined): readonly T[] {
  if (!items) throw new Error('a page of the response has no items')
  return items
}

/** Asks about each item, ten at a time: AWS throttles bursts. */
export async function askEach<Item, Result>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += maxConcurrent)
    results.push(...(await Promise.all(items.slice(start, start + maxConcurrent).map(ask))))
  return results
}

const maxConcurrent = 10

/** An error of AWS as an InventoryError: the listing is incomplete. */
export function inventoryError(what: string, error: unknown): InventoryError {
  if (error instanceof InventoryError) return error
  const { name, message } = error as Error
  return new InventoryError(`${what}: ${name}: ${message}`, { cause: error })
}
