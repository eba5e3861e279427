// Asks every default resolver three questions, from wherever you are: node verify-resolvers.ts
import { createDnsClient, defaultResolverLocations } from 'utility-api/dns'
import { verify } from './verify.ts'

const client = createDnsClient()
const trials = { existing: 'example.com', parent: 'example.com', bogus: 'dnssec-failed.org' }
const verdicts = await Promise.all(
  defaultResolverLocations.map((location) => verify(client, location, trials)),
)
await client.close()

console.table(
  verdicts.map(({ location, faults, validates, latencyMs }) => ({
    ip: location.ip,
    provider: location.provider,
    verdict: faults.length === 0 ? 'ok' : faults.join(', '),
    validates,
    'latency ms': latencyMs,
  })),
)
process.exitCode = verdicts.every(({ faults }) => faults.length === 0) ? 0 : 1
