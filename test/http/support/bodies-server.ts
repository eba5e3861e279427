// A server in a process of its own whose storage and networks are slow, to be sent hostile bodies:
// `node --import test/support/sources.ts test/http/support/bodies-server.ts <mount>`, or with Bun. Speaks in lines of JSON: the port
// and a good exchange first, then its memory for every line it reads.
import { createSocket } from 'node:dgram'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { speak, startMount } from './measured-server.ts'
import { grantFields, redirectUri } from './grant.ts'

/** A resolver that never answers. */
const silent = createSocket('udp4')
await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
const resolver = { ip: '127.0.0.1', port: silent.address().port }

const storage = memoryStorage()
const slow: typeof storage = {
  ...storage,
  async findCredential(...args) {
    await wait(300)
    return storage.findCredential(...args)
  },
}
const api = createUtilityApi({
  storage: slow,
  dns: { locations: [{ location: 'Nowhere', provider: 'Nobody', ...resolver }] },
  blockgame: { resolvers: [resolver] },
})
const admin = createAdmin({ storage })
const { clientId, clientSecret } = await admin.createClient({ redirectUris: [redirectUri] })
const { token } = await admin.createReseller()
const { accessToken } = await admin.createAccessToken({ scope: '' })
const { apiKey } = await admin.createApiKey()
const { code } = await admin.issueAuthorizationCode({
  clientId,
  redirectUri,
  scope: '',
  lifetimeSeconds: 600,
})
const port = await startMount(api)
const exchange = grantFields({ clientId, clientSecret }, code, redirectUri)
speak({ port, exchange, token, accessToken, apiKey })
