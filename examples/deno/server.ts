// The five operations on Deno's own server: deno run --allow-net --allow-env --allow-read --allow-sys server.ts
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'

const storage = memoryStorage()
const api = createUtilityApi({ storage, logger: console })

const server = Deno.serve(
  { port: Number(Deno.env.get('PORT') ?? 3000), hostname: '127.0.0.1', onListen: () => {} },
  (request, { remoteAddr }) => api.fetch(request, { ip: remoteAddr.hostname }),
)
const url = `http://127.0.0.1:${server.addr.port}`
console.log(`Listening on ${url}`)

const { token } = await createAdmin({ storage }).createReseller({ name: 'Example Hosting' })
console.log(`curl -X POST ${url}/v2/reseller/licenses/generate -H 'Authorization: Bearer ${token}' \\
  -H 'X-Registered-To: Ada Lovelace' -H 'X-Domain-Or-IP: shop.example' -H 'X-Status: valid'`)

await new Promise<void>((resolve) => Deno.addSignalListener('SIGTERM', resolve))
const stopped = server.shutdown()
await api.close()
await stopped
Deno.exit(0)
