/** What a fake server remembers, so that one that runs for long does not fill the memory. */
const maxKept = 1000

/** Adds an item and forgets the oldest beyond a thousand. */
export function keepLast<Item>(items: Item[], item: Item): void {
  items.push(item)
  if (items.length > maxKept) items.shift()
}
