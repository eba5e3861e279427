/**
 * A server process of its own on a shared store: exchanges what it is told to, all at once, and reports the answers.
 *
 * node --import test/support/sources.ts race-worker.ts TARGET
 */
import { createUtilityApi } from 'utility-api'
import { openRaceStore } from './race-store.ts'

export interface RaceOrder {
  readonly racers: number
  readonly bodies: readonly string[]
}

/** Per body, how many racers got each answer: `200`, `invalid_grant`, … */
export type RaceResult = Record<string, number>[]

const { storage, close } = openRaceStore(process.argv[2] ?? '')
const api = createUtilityApi({ storage, dns: false, blockgame: false, maxInFlight: 100_000 })

async function exchange(body: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await api.fetch(
    new Request('http://localhost/v4/oauth2/token', { method: 'POST', headers, body }),
  )
  const { error } = (await response.json()) as { error?: string }
  return error ?? String(response.status)
}

process.on('message', async ({ racers, bodies }: RaceOrder) => {
  const results: RaceResult = []
  for (const body of bodies) {
    const answers = await Promise.all(Array.from({ length: racers }, () => exchange(body)))
    const counts: Record<string, number> = {}
    for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1
    results.push(counts)
  }
  process.send?.(results)
})

process.on('disconnect', () => void close())
process.send?.('ready')
