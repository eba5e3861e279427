import type { ResolverLocation } from '../domain/resolver-location.ts'

/**
 * Public resolvers that answer anyone, do not filter, and do not invent answers for names that do not exist.
 *
 * An anycast address is answered by the operator's site nearest to the client, so its label names the operator's country
 * and not a city. The URL is that for questions over HTTPS.
 *
 * @group DNS
 */
export const defaultResolverLocations: readonly ResolverLocation[] = (
  [
    ['8.8.8.8', 'dns.google/dns-query', 'Anycast (operator US)', 'Google Public DNS'],
    ['1.1.1.1', 'cloudflare-dns.com/dns-query', 'Anycast (operator US)', 'Cloudflare'],
    ['9.9.9.10', 'dns10.quad9.net/dns-query', 'Anycast (operator Zürich, CH)', 'Quad9 (unfiltered)'],
    ['76.76.2.0', 'freedns.controld.com/p0', 'Anycast (operator Toronto, CA)', 'Control D'],
    ['149.112.121.10', 'private.canadianshield.cira.ca/dns-query', 'Canada', 'CIRA Canadian Shield'],
    [
      '86.54.11.100',
      'unfiltered.joindns4.eu/dns-query',
      'Anycast in the EU (operator CZ)',
      'DNS4EU (unfiltered)',
    ],
    ['193.17.47.1', 'odvr.nic.cz/doh', 'Czechia', 'CZ.NIC ODVR'],
    ['185.222.222.222', 'doh.dns.sb/dns-query', 'Anycast (operator DE)', 'DNS.SB'],
    [
      '94.140.14.140',
      'unfiltered.adguard-dns.com/dns-query',
      'Anycast (operator Limassol, CY)',
      'AdGuard DNS (unfiltered)',
    ],
    ['77.88.8.8', 'common.dot.dns.yandex.net/dns-query', 'Moscow, Russia', 'Yandex DNS'],
    ['223.5.5.5', 'dns.alidns.com/dns-query', 'Anycast in China (operator Hangzhou)', 'AliDNS'],
    ['119.29.29.29', 'doh.pub/dns-query', 'China (operator Shenzhen)', 'DNSPod'],
  ] as const
).map(([ip, doh, location, provider]) => ({ location, ip, provider, doh: `https://${doh}` }))
