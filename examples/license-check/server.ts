// A service that signs licenses, and the lines that check one of them in four languages.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { licenseRoutes } from './routes.ts'

// Keep yours: createPrivateKey(readFileSync('license-key.pem')), made once by `openssl genpkey -algorithm ed25519`.
const { privateKey } = generateKeyPairSync('ed25519')
const storage = memoryStorage()
const api = createUtilityApi({
  storage,
  licenses: { issuer: 'https://shop.example', signingKey: privateKey },
})
const { token } = await createAdmin({ storage }).createReseller({ name: 'Our shop' })
const headers = {
  Authorization: `Bearer ${token}`,
  'X-Registered-To': 'Ada Lovelace',
  'X-Domain-Or-IP': 'customer.example',
  'X-Status': 'valid',
}
const request = new Request('http://localhost/v2/reseller/licenses/generate', { method: 'POST', headers })
const { data } = (await (await api.fetch(request)).json()) as { data: { license_key: string } }

const server = createServer(licenseRoutes(api)).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// What a product is shipped with, and where it keeps the last statement.
const folder = mkdtempSync(join(tmpdir(), 'license-check-'))
writeFileSync(join(folder, 'license-keys.json'), JSON.stringify(api.licenseJwks()))

console.log(`Listening on ${url}

A signed license:  curl ${url}/license/${data.license_key}

What a product does with it; also after this server has stopped:

export LICENSE_SERVER=${url} LICENSE_FOLDER=${folder}
node check.ts ${data.license_key} customer.example
php check.php ${data.license_key} customer.example
python3 check.py ${data.license_key} customer.example
go run check.go ${data.license_key} customer.example
`)

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
server.close()
server.closeAllConnections()
await api.close()
