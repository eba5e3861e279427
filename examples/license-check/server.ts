// A service that signs licenses, the lines that check one of them in four languages, and those that sell one by a panel.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdmin, createUtilityApi } from 'utility-api'
import { toNodeHandler } from 'utility-api/node'
import { memoryStorage } from 'utility-api/storage/memory'
import { licenseRoutes } from './routes.ts'

// Keep yours: createPrivateKey(readFileSync('license-key.pem')), made once by `openssl genpkey -algorithm ed25519`.
const { privateKey } = generateKeyPairSync('ed25519')
const storage = memoryStorage()
const api = createUtilityApi({
  storage,
  licenses: { issuer: 'https://shop.example', signingKey: privateKey },
})
const admin = createAdmin({ storage })
const { resellerId, token } = await admin.createReseller({ name: 'Our shop' })
const { licenseKey } = await admin.createLicense({
  resellerId,
  registeredTo: 'Ada Lovelace',
  domainOrIp: 'customer.example',
})

const [routes, operations] = [licenseRoutes(api), toNodeHandler(api)]
const server = createServer((request, response) =>
  request.url?.startsWith('/license') === true ? routes(request, response) : operations(request, response),
).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// What a product is shipped with, and where it keeps the last statement.
const folder = mkdtempSync(join(tmpdir(), 'license-check-'))
writeFileSync(join(folder, 'license-keys.json'), JSON.stringify(api.licenseJwks()))

console.log(`Listening on ${url}

A signed license:

curl ${url}/license/${licenseKey}

What a product does with it; also after this server has stopped:

export LICENSE_SERVER=${url} LICENSE_FOLDER='${folder}'
node check.ts ${licenseKey} customer.example
php check.php ${licenseKey} customer.example
python3 check.py ${licenseKey} customer.example
go run check.go ${licenseKey} customer.example

What a reseller's panel does; the same order again prints the same key:

RESELLER_TOKEN=${token} php panel.php sell 4711 'Grace Hopper' shop.example
`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
// Requests to your own pages have ten seconds. A connection that never sent one would stay open forever.
setTimeout(() => server.closeAllConnections(), 10_000).unref()
await api.close()
