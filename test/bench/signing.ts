// What a signed license costs beside the signature alone: `npx tsup && node test/bench/signing.ts`. SIGNING_ROUNDS changes how
// long.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createAdmin, createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { cpuTimes } from './cpu-time.ts'
import { printTable } from './table.ts'

const rounds = Number(process.env['SIGNING_ROUNDS'] ?? 41)
const calls = 2000

const storage = memoryStorage()
const { privateKey } = generateKeyPairSync('ed25519')
const licenses = { issuer: 'https://shop.example', signingKey: privateKey }
const api = createUtilityApi({ storage, licenses, dns: false, blockgame: false })
const admin = createAdmin({ storage })
const { resellerId } = await admin.createReseller()
const sold = { resellerId, registeredTo: 'Ada Lovelace', domainOrIp: 'shop.example' }
const { licenseKey } = await admin.createLicense(sold)
const options = { lifetimeSeconds: 7 * 86_400, audience: 'shop-plugin' }
const statement = await api.signLicense(licenseKey, options)
const octets = Buffer.from(statement.slice(0, statement.lastIndexOf('.')))

const subjects = {
  'api.signLicense': () => api.signLicense(licenseKey, options),
  'crypto.sign of the same octets': () => sign(null, octets, privateKey),
}

const figures = await cpuTimes(subjects, { rounds, calls })
printTable(
  `One statement of a license, memory storage, ${rounds} rounds of ${calls}, medians of CPU time.`,
  figures.map(({ name, microseconds }) => ({
    work: name,
    µs: microseconds.toFixed(2),
    'to the signature': (microseconds / (figures[1]?.microseconds ?? Number.NaN)).toFixed(2),
  })),
)
await api.close()
