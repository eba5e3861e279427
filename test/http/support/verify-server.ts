// A server in a process of its own: the operations, and at /whoami a route that they guard. Argument: the store.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bearerToken, createUtilityApi, UtilityApiError } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { openRaceStore } from './race-store.ts'

const { storage } = openRaceStore(process.argv[2] ?? '')
const api = createUtilityApi({ storage, dns: false, blockgame: false })
const operations = toNodeHandler(api)
const server = createServer(async (request, response) => {
  if (request.url !== '/whoami') return operations(request, response)
  try {
    const { subject } = await api.verifyAccessToken(bearerToken(request.headers.authorization))
    response.end(subject)
  } catch (error) {
    response.writeHead(error instanceof UtilityApiError ? error.status : 500).end()
  }
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
