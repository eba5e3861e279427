// Prints how many octets a lookup leaves behind when short garbage collections alone have run:
// `node --expose-gc --min-semi-space-size=64 --max-semi-space-size=64 --import ./test/support/sources.ts`, and this file.
import { createBlockgameClient } from 'utility-api/blockgame'
import { fakeBlockgameServer } from 'utility-api/testing'

declare const gc: (options: { type: 'minor' | 'major' }) => void

const description = 'x'.repeat(20_000)
const server = await fakeBlockgameServer({ status: { description } })
const client = createBlockgameClient({ allowAddress: () => true })

async function lookUp(times: number): Promise<void> {
  for (let done = 0; done < times; done += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await client.status({ host: '127.0.0.1', port: server.port })
  }
}

const lookups = 300
// As many as V8 needs to compile what they run.
await lookUp(5 * lookups)
gc({ type: 'major' })
gc({ type: 'major' })
const before = process.memoryUsage().heapUsed
await lookUp(lookups)
await new Promise((resolve) => setTimeout(resolve, 50))
gc({ type: 'minor' })
gc({ type: 'minor' })
console.log((process.memoryUsage().heapUsed - before) / lookups)
await client.close()
await server.close()
