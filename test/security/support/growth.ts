import { textOf, type PumpedText } from './pumped-texts.ts'

/** What is done with a text. It may refuse it. */
export type Work = (text: string) => unknown

/** Node.js 22 knows no time of one thread; the others do next to nothing meanwhile. */
const usage: typeof process.threadCpuUsage = process.threadCpuUsage ?? process.cpuUsage

/** Returns the milliseconds of processor time that this thread takes to do something some times. */
async function costOf(work: Work, text: string, times: number): Promise<number> {
  const before = usage()
  for (let count = 0; count < times; count += 1) {
    try {
      await work(text)
    } catch {
      // A refusal takes time too.
    }
  }
  const { user, system } = usage(before)
  return (user + system) / 1000
}

/** Short ones first: what grows with the cube of the length would take hours for the long ones. */
const lengths = [256, 4096]
/** Some systems count processor time in steps of four milliseconds. */
const measurable = 100
const attempts = 3

/** How many times as much a text costs when it is four times as long; null for one that costs next to nothing. */
async function growthOf(work: Work, text: PumpedText): Promise<number | null> {
  for (const length of new Set([...lengths, text.length])) {
    const noticed = 8 + length / 20_000
    const shorter = textOf(text, length)
    const cost = await costOf(work, shorter, 1)
    // A collection of garbage or a compilation is not repeated.
    if (cost < noticed || (await costOf(work, shorter, 1)) < noticed) continue
    const longer = textOf(text, 4 * length)
    const times = Math.ceil(measurable / cost)
    // The least of each: what another process takes from the caches makes any single one dearer.
    let once = Infinity
    let grown = Infinity
    for (let attempt = 0; attempt < attempts && grown > tolerated * once; attempt += 1) {
      grown = Math.min(grown, await costOf(work, longer, times))
      once = Math.min(once, await costOf(work, shorter, times))
    }
    if (grown > tolerated * once) return grown / once
  }
  return null
}

/** Between what is linear, which grows fourfold, and what is quadratic, which grows sixteenfold. */
const tolerated = 7

/** Returns the first of these texts whose cost grows faster than it does, as a sentence, or null. */
export async function firstCostly(work: Work, texts: Iterable<PumpedText>): Promise<string | null> {
  for (const text of texts) {
    const growth = await growthOf(work, text)
    if (growth !== null) return `${JSON.stringify(text)}: ${growth.toFixed(1)} times for four times the text`
  }
  return null
}
