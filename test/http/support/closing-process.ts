/** A server under load that is closed in the middle of it, and must then end by itself. Prints what became of the requests. */
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { fakeBlockgameServer } from 'utility-api/testing'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { token } = await admin.createReseller()
const { apiKey } = await admin.createApiKey()
const slow = {
  ...storage,
  async updateLicense(...args: Parameters<typeof storage.updateLicense>) {
    await wait(5)
    return storage.updateLicense(...args)
  },
}
const game = await fakeBlockgameServer({ status: { version: { name: '1', protocol: 1 } } })
const api = createUtilityApi({
  storage: slow,
  blockgame: { allowAddress: () => true, resolvers: [{ ip: '127.0.0.1', port: 9 }] },
})
const counts = { accepted: 0, finished: 0, answered: 0, refused: 0 }
const handler = toNodeHandler(api)
const server = createServer((request, response) => {
  counts.accepted += 1
  response.on('finish', () => (counts.finished += 1))
  handler(request, response)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const agent = new Agent({ keepAlive: true, maxSockets: 50 })
let sentCount = 0
const underLoad = Promise.withResolvers<void>()

function send(): Promise<void> {
  const lookup = sentCount % 2 === 0
  sentCount += 1
  const options = lookup
    ? {
        path: '/v4/games/blockgame/lookup',
        headers: { Basic: apiKey, 'X-Address': `127.0.0.1:${game.port}` },
      }
    : {
        method: 'PUT',
        path: '/v2/reseller/LIC-1/update',
        headers: { Authorization: `Bearer ${token}`, 'X-Status': 'valid' },
      }
  return new Promise((resolve) => {
    const sent = httpRequest({ agent, port, host: '127.0.0.1', ...options }, (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 503) counts.refused += 1
        else counts.answered += 1
        if (counts.answered === 200) underLoad.resolve()
        resolve()
      })
    })
    // The host no longer listens, or had not taken the connection yet: such a request was never accepted.
    sent.on('error', () => resolve())
    sent.end()
  })
}

async function load(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await send()
}

const running = Promise.all(Array.from({ length: 50 }, load))
await underLoad.promise
server.close()
await api.close()
await running
agent.destroy()
await game.close()
process.stdout.write(JSON.stringify(counts))
