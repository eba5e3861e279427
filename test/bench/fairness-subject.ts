// The server of the fairness benchmark: default options, but for remote ends on loopback.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import type { Remote } from './fairness-remote.ts'

/** What the parent is told. */
export interface Subject {
  readonly port: number
  readonly callers: readonly { readonly accessToken: string; readonly apiKey: string }[]
}

const { resolverPorts } = JSON.parse(process.argv[2] ?? '') as Remote
const storage = memoryStorage()
const admin = createAdmin({ storage })
const api = createUtilityApi({
  storage,
  dns: {
    locations: resolverPorts.map((port) => ({ location: 'Here', ip: '127.0.0.1', port, provider: 'None' })),
  },
  blockgame: { allowAddress: () => true },
})
const server = createServer(toNodeHandler(api)).listen(0, '127.0.0.1', 4096)
await once(server, 'listening')

async function createCaller(): Promise<Subject['callers'][number]> {
  const { accessToken } = await admin.createAccessToken({ scope: '', lifetimeSeconds: 86_400 })
  return { accessToken, apiKey: (await admin.createApiKey()).apiKey }
}

const subject: Subject = {
  port: (server.address() as AddressInfo).port,
  callers: [await createCaller(), await createCaller()],
}
process.on('disconnect', () => process.exit())
process.send?.(subject)
