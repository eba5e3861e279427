import { createBlockgameClient } from 'utility-api/blockgame'
import { createDnsClient, createDohClient, findAuthoritativeServers } from 'utility-api/dns'
import { called, type Mistakes } from './mistake.ts'
import { blockgameClient, dnsClient } from './values.ts'

const notAQuestion = 'question must be an object: write query({ name, type, server: { ip } }).'
const server = { ip: '192.0.2.1' }

export const ofClients: Mistakes = {
  createDnsClient: [
    ['a server', called(createDnsClient, '192.0.2.1'), 'options: must be an object, as in { timeoutMs }.'],
    ['half of a name', called(createDnsClient, { timeout: 5 }), 'timeout: is not an option; timeoutMs is.'],
  ],
  createDohClient: [
    [
      'a URL',
      called(createDohClient, 'https://dns.example/dns-query'),
      'options: must be an object, as in { endpoint }.',
    ],
    [
      'a URL for all',
      called(createDohClient, { endpoint: 'https://dns.example' }),
      'endpoint: must be a function.',
    ],
    ['another name', called(createDohClient, { url: 'https://dns.example' }), 'url: is not an option.'],
  ],
  query: [
    ['nothing', called(dnsClient.query), notAQuestion],
    ['a name and a type', called(dnsClient.query, 'a.example', 'A'), notAQuestion],
    [
      'an address for a server',
      called(dnsClient.query, { name: 'a.example', type: 'A', server: '192.0.2.1' }),
      'server must be an object: write { server: { ip } }.',
    ],
    [
      'another name',
      called(dnsClient.query, { domain: 'a.example', type: 'A', server }),
      'domain is not known here, only name, type, server, timeoutMs, clientSubnet, recursionDesired, checkingDisabled, transport, signal.',
    ],
    [
      'a small type',
      called(dnsClient.query, { name: 'a.example', type: 'a', server }),
      'type must be one of A, AAAA, MX, NS, PTR, CNAME, SOA, TXT, SRV, CAA, DS, DNSKEY.',
    ],
    [
      'a controller',
      called(dnsClient.query, { name: 'a.example', type: 'A', server, signal: new AbortController() }),
      'signal must be an AbortSignal.',
    ],
  ],
  findAuthoritativeServers: [
    [
      'nothing',
      called(findAuthoritativeServers),
      'options must be an object: write { resolvers: [{ ip }] }.',
    ],
    [
      'no resolver',
      called(findAuthoritativeServers, dnsClient, 'a.example'),
      'options must be an object: write { resolvers: [{ ip }] }.',
    ],
    [
      'an address',
      called(findAuthoritativeServers, dnsClient, 'a.example', { resolvers: '192.0.2.1' }),
      'resolvers must be a list of objects with an IP address: write { resolvers: [{ ip }] }.',
    ],
    [
      'a function that is not called',
      called(findAuthoritativeServers, createDnsClient, 'a.example', { resolvers: [server] }),
      'client must be what createDnsClient() returns.',
    ],
  ],
  createBlockgameClient: [
    [
      'a host',
      called(createBlockgameClient, 'play.example.com'),
      'options: must be an object, as in { allowAddress }.',
    ],
    [
      'a misspelled option',
      called(createBlockgameClient, { allowaddress: () => true }),
      'allowaddress: is not an option; allowAddress is.',
    ],
  ],
  status: [
    ['nothing', called(blockgameClient.status), 'target must be an object: write status({ host }).'],
    [
      'a host and a port',
      called(blockgameClient.status, 'play.example.com', 25565),
      'target must be an object: write status({ host }).',
    ],
    [
      'another name',
      called(blockgameClient.status, { address: 'play.example.com' }),
      'address is not known here, only host, port, timeoutMs, signal, raw, handshake, proxyProtocol.',
    ],
    [
      'half of a name',
      called(blockgameClient.status, { host: 'play.example.com', timeout: 5 }),
      'timeout is not known here; timeoutMs is.',
    ],
    [
      'a port in the host',
      called(blockgameClient.status, { host: 'play.example.com:25565' }),
      'host must be a host name or an IP address, without a port: write { host, port }.',
    ],
    [
      'a text for a port',
      called(blockgameClient.status, { host: 'play.example.com', port: '25565' }),
      'port must be an integer from 1 to 65535.',
    ],
  ],
}
