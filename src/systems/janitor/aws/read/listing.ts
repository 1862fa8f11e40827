import { InventoryError } from '../../model/resource.ts'

/** A listing in pages: how many a page may hold, and the pages with that size. */
export interface Listing<Page, Item> {
  readonly what: string
  readonly pageSize: number
  readonly pages: (pageSize: number) => AsyncIterable<Page>
  readonly items: (page: Page) => readonly Item[] | undefined
}

/**
 * Every item of a listing, or an InventoryError. A last page that is full to the brim may have been cut: then it is
 * listed once more in pages of another size, and both must agree.
 */
export async function listCompletely<Page, Item>(listing: Listing<Page, Item>): Promise<readonly Item[]> {
  const first = await collect(listing, listing.pageSize)
  if (!first.lastWasFull) return first.items
  const second = await collect(listing, listing.pageSize - 1)
  if (second.items.length === first.items.length) return first.items
  throw new InventoryError(`${listing.what}: the listing was cut after ${first.items.length}`)
}

async function collect<Page, Item>(
  { what, pages, items }: Listing<Page, Item>,
  pageSize: number,
): Promise<{ readonly items: readonly Item[]; readonly lastWasFull: boolean }> {
  const all: Item[] = []
  let lastWasFull = false
  try {
    for await (const page of pages(pageSize)) {
      const found = items(page)
      if (!found) throw new InventoryError(`${what}: a page came without its items`)
      all.push(...found)
      lastWasFull = found.length >= pageSize
    }
  } catch (error) {
    throw inventoryError(what, error)
  }
  return { items: all, lastWasFull }
}

/** What AWS said, as a reason not to rely on a listing. */
export function inventoryError(what: string, error: unknown): InventoryError {
  if (error instanceof InventoryError) return error
  const { name, message } = error as Error
  return new InventoryError(`${what}: ${name}: ${message}`, { cause: error })
}
