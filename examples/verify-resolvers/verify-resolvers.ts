// Asks resolvers three questions from your location. npm start asks the default ones; npm start -- 192.0.2.53
// "[2001:db8::53]:5353" asks those that you name.
import { createDnsClient, defaultResolverLocations, type ResolverLocation } from 'utility-api/dns'
import { verify } from './verify.ts'

const named = process.argv.slice(2).map(locationOf)
const client = createDnsClient()
const trials = { existing: 'example.com', parent: 'example.com', bogus: 'dnssec-failed.org' }
const verdicts = await Promise.all(
  (named.length > 0 ? named : defaultResolverLocations).map((location) => verify(client, location, trials)),
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
console.log('Those that are ok are good for createUtilityApi({ dns: { locations } }).')
process.exitCode = verdicts.every(({ faults }) => faults.length === 0) ? 0 : 1

function locationOf(text: string): ResolverLocation {
  const { hostname, port } = new URL(`dns://${text}`)
  const ip = hostname.replaceAll(/[[\]]/g, '')
  return { location: 'Here', provider: 'named', ip, ...(port !== '' && { port: Number(port) }) }
}
