// The server of the overload benchmark: lookups and checks hang until they are told apart from the three storage operations.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'

const storage = memoryStorage()
const admin = createAdmin({ storage })
const { token } = await admin.createReseller()
const { apiKey } = await admin.createApiKey()
const { accessToken } = await admin.createAccessToken({ scope: '', lifetimeSeconds: 86_400 })
const redirectUri = 'https://client.example/callback'
const client = await admin.createClient({ redirectUris: [redirectUri] })

const hang = ({ signal }: { signal?: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
const close = async (): Promise<void> => {}
const locations = [{ location: 'Here', ip: '192.0.2.1', provider: 'None' }]
const api = createUtilityApi({
  storage,
  dns: { client: { query: hang, close }, locations, timeoutMs: 600_000, maxConcurrentPerResolver: 10_000 },
  blockgame: { client: { status: hang, close }, timeoutMs: 600_000, maxConcurrent: 10_000 },
})
const server = createServer(toNodeHandler(api)).listen(0, '127.0.0.1')
await once(server, 'listening')

/** What the load asks for: facts once, then codes to redeem and figures of this process. */
type Question = { codes: number } | 'figures'

process.on('message', async (question: Question) => {
  if (question === 'figures') {
    process.send?.({ cpu: process.cpuUsage(), memory: process.memoryUsage().rss })
    return
  }
  const { clientId } = client
  const codes: string[] = []
  while (codes.length < question.codes) {
    codes.push(
      (await admin.issueAuthorizationCode({ clientId, redirectUri, scope: '', lifetimeSeconds: 600 })).code,
    )
  }
  process.send?.(codes)
})
process.on('disconnect', () => process.exit())
const { port } = server.address() as AddressInfo
process.send?.({ port, token, apiKey, accessToken, redirectUri, ...client })
