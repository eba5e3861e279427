/** What became of one portion of rows. */
interface Portion<Mark> {
  readonly changed: number
  /** Where the next portion begins: undefined after the last one. */
  readonly next: Mark | undefined
}

/** Goes through rows portion after portion, so that others write in between. Returns how many rows it changed. */
export async function inPortions<Mark>(
  start: Mark,
  change: (after: Mark) => Promise<Portion<Mark>>,
): Promise<number> {
  let total = 0
  let after: Mark | undefined = start
  while (after !== undefined) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { changed, next }: Portion<Mark> = await change(after)
    total += changed
    after = next
  }
  return total
}

/** Makes a change again until it finds fewer rows than so many. Returns how many it changed. */
export function untilFew(portion: number, change: () => Promise<number>): Promise<number> {
  return inPortions(portion, async () => {
    const changed = await change()
    return { changed, next: changed >= portion ? portion : undefined }
  })
}
