import type { ResolverLocation } from '../domain/resolver-location.ts'

/**
 * Public resolvers that answer anyone, do not filter, and do not invent answers for names that do not exist.
 *
 * An anycast address is answered by the operator's site nearest to the client, so its label names the operator's country
 * and not a city.
 *
 * @group DNS
 */
export const defaultResolverLocations: readonly ResolverLocation[] = [
  { location: 'Anycast (operator US)', ip: '8.8.8.8', provider: 'Google Public DNS' },
  { location: 'Anycast (operator US)', ip: '1.1.1.1', provider: 'Cloudflare' },
  { location: 'Anycast (operator Zürich, CH)', ip: '9.9.9.10', provider: 'Quad9 (unfiltered)' },
  { location: 'Anycast (operator Toronto, CA)', ip: '76.76.2.0', provider: 'Control D' },
  { location: 'Canada', ip: '149.112.121.10', provider: 'CIRA Canadian Shield' },
  { location: 'Anycast in the EU (operator CZ)', ip: '86.54.11.100', provider: 'DNS4EU (unfiltered)' },
  { location: 'Czechia', ip: '193.17.47.1', provider: 'CZ.NIC ODVR' },
  { location: 'Anycast (operator DE)', ip: '185.222.222.222', provider: 'DNS.SB' },
  { location: 'Anycast (operator Limassol, CY)', ip: '94.140.14.140', provider: 'AdGuard DNS (unfiltered)' },
  { location: 'Moscow, Russia', ip: '77.88.8.8', provider: 'Yandex DNS' },
  { location: 'Anycast in China (operator Hangzhou)', ip: '223.5.5.5', provider: 'AliDNS' },
  { location: 'China (operator Shenzhen)', ip: '119.29.29.29', provider: 'DNSPod' },
]
