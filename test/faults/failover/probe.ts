import { setTimeout as sleep } from 'node:timers/promises'
import { send } from './send.ts'

/** How many were asked, and how many of them answered 200. */
export interface Tally {
  asked: number
  answered: number
}

export interface Probes {
  readonly reads: Tally
  readonly health: Tally
}

/** Asks all servers for reads and their health until told to stop. */
export function startProbes(origins: readonly string[], resellerToken: string): () => Promise<Probes> {
  const probes: Probes = { reads: { asked: 0, answered: 0 }, health: { asked: 0, answered: 0 } }
  const stop = new AbortController()
  async function ask(tally: Tally, url: string): Promise<void> {
    while (!stop.signal.aborted) {
      tally.asked += 1
      const { status } = await send(url, 'GET', { Authorization: `Bearer ${resellerToken}` })
      if (status === 200) tally.answered += 1
      await sleep(50)
    }
  }
  const loops = origins.flatMap((origin) => [
    ask(probes.reads, `${origin}/read`),
    ask(probes.health, `${origin}/health`),
  ])
  return async () => {
    stop.abort()
    await Promise.all(loops)
    return probes
  }
}
