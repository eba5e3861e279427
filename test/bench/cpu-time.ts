/** What a kind of work costs. */
export interface CpuTime {
  readonly name: string
  /** Microseconds of CPU time for one call, the median of the rounds. */
  readonly microseconds: number
}

/** Measures works in turns, so that whatever else the machine does falls on all of them. */
export async function cpuTimes(
  works: Readonly<Record<string, () => unknown>>,
  { rounds, calls }: { readonly rounds: number; readonly calls: number },
): Promise<CpuTime[]> {
  const all = Object.entries(works).map(([name, work]) => ({ name, work, samples: [] as number[] }))
  for (const { work } of all) await microsecondsOf(work, calls)
  for (let round = 0; round < rounds; round += 1) {
    for (const { work, samples } of all) samples.push(await microsecondsOf(work, calls))
  }
  return all.map(({ name, samples }) => ({ name, microseconds: median(samples) }))
}

async function microsecondsOf(work: () => unknown, calls: number): Promise<number> {
  const start = process.cpuUsage()
  for (let call = 0; call < calls; call += 1) await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / calls
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
