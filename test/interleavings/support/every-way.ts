/** Picks one of so many, as an index. Asked again in the same order, a run that picks the same goes the same way. */
export type Choose = (of: number) => number

/** Runs once for each way to choose, and returns how many there were. */
export async function inEveryWay(run: (choose: Choose) => Promise<void>): Promise<number> {
  let picked: { index: number; of: number }[] = []
  for (let ways = 1; ; ways += 1) {
    let next = 0
    // oxlint-disable-next-line no-await-in-loop -- one way after the other
    await run((of) => {
      const choice = (picked[next] ??= { index: 0, of })
      next += 1
      if (choice.of !== of) throw new Error('The same choices led to another place.')
      return choice.index
    })
    // The last choice that has an index left takes it, and what came after it begins again.
    picked = picked.slice(0, picked.findLastIndex(({ index, of }) => index + 1 < of) + 1)
    const last = picked.at(-1)
    if (last === undefined) return ways
    last.index += 1
  }
}
