/** How many items a fake server keeps, so that a long-running one does not fill the memory. */
const maxKept = 1000

/** Adds an item and forgets the oldest beyond a thousand. */
export function keepLast<Item>(items: Item[], item: Item): void {
  items.push(item)
  if (items.length > maxKept) items.shift()
}
