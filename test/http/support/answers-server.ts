// A server in a process of its own whose resolvers answer with as much as an answer may hold:
// `node --import test/support/sources.ts test/http/support/answers-server.ts <mount>`, or with Bun. Speaks in lines of JSON: the port and
// credentials first, then its memory for every line it reads.
import { setTimeout as wait } from 'node:timers/promises'
import {
  createAdmin,
  createUtilityApi,
  type BlockgameClient,
  type DnsAnswer,
  type DnsClient,
  type DnsRecord,
  type ServerStatus,
} from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { speak, startMount } from './measured-server.ts'
import { grantFields, redirectUri } from './grant.ts'

const large = 'x'.repeat(90)

/** Some 200 KiB of JSON. Made once, since it is ours that is measured. */
const largeRecords = Array.from({ length: 780 }, (_, index) =>
  recordOf('hostile.example', `${large}${index}`),
)

function recordOf(host: string, txt: string): DnsRecord {
  return { type: 'TXT', host, ttl: 0, txt, entries: [txt] }
}

/** Has much for hostile names, and one record for others. */
const client: DnsClient = {
  async query({ name }): Promise<DnsAnswer> {
    await wait(5)
    const isHostile = name.endsWith('hostile.example')
    const records = isHostile ? largeRecords : [recordOf(name, large)]
    return { status: 'NOERROR', records, cnameChain: [], transport: isHostile ? 'tcp' : 'udp', latencyMs: 1 }
  },
  close: async () => {},
}

const game: BlockgameClient = {
  async status({ host, port = 25_565 }): Promise<ServerStatus> {
    await wait(5)
    const players = { online: 3, max: 20 }
    const version = { name: '1.21.4', protocol: 769 }
    return {
      ip: host,
      port,
      latencyMs: 20,
      srvRecord: null,
      players,
      version,
      description: '',
      descriptionSpans: [],
    }
  },
  close: async () => {},
}

const storage = memoryStorage()
const api = createUtilityApi({
  storage,
  dns: { client },
  blockgame: { client: game },
})
const admin = createAdmin({ storage })
const clients = await Promise.all(
  Array.from({ length: 22 }, () => admin.createClient({ redirectUris: [redirectUri] })),
)
const tokens = await Promise.all(
  clients.map(({ clientId }) => admin.createAccessToken({ clientId, scope: '' })),
)
const [attacker, bystander, ...honest] = tokens.map(({ accessToken }) => accessToken)
const { apiKey } = await admin.createApiKey()
const { clientId, clientSecret } = clients[1] as (typeof clients)[0]
const codes = await Promise.all(
  Array.from({ length: 200 }, () =>
    admin.issueAuthorizationCode({ clientId, redirectUri, scope: '', lifetimeSeconds: 600 }),
  ),
)
const exchanges = codes.map(({ code }) => grantFields({ clientId, clientSecret }, code, redirectUri))
const port = await startMount(api)
speak({ port, attacker, bystander, honest, apiKey, exchanges })
