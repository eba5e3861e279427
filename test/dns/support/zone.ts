import { Buffer } from 'node:buffer'

const longText = (length: number): string =>
  Array.from({ length: Math.ceil(length / 250) }, (_, index) => `"${String(index % 10).repeat(250)}"`).join(
    ' ',
  )

const bigKey = (seed: number): string => Buffer.alloc(512, seed).toString('base64')

/** A zone with every record type, in the words of a zone file; it is signed before it is served. */
export const zoneFile: string = String.raw`
$ORIGIN example.test.
$TTL 3600
@ IN SOA ns1 host\.master 2026112001 7200 3600 1209600 300
@ IN NS ns1
@ IN NS ns2.example.net.
ns1 IN A 127.0.0.1
@ 60 IN A 192.0.2.1
@ 60 IN A 192.0.2.255
@ IN AAAA 2001:db8:0:0:1::
@ IN AAAA 1:0:0:2::3
@ IN AAAA ::ffff:192.0.2.1
@ IN MX 10 mail
@ IN MX 20 mail.example.net.
nomail IN MX 0 .
@ IN TXT "v=spf1 include:_spf.example.net" " -all"
text IN TXT "" "quote \" backslash \\ semicolon ;" "umlaut \195\188"
text IN TXT "octets \000\255\128"
long IN TXT ${longText(30_000)}
_sip._tcp IN SRV 10 60 5060 sip
_sip._tcp IN SRV 10 40 5061 sip.example.net.
_no._tcp IN SRV 0 0 0 .
@ IN CAA 0 issue "ca.example.net; policy=ev"
@ IN CAA 128 iodef "mailto:security@example.test"
1 IN PTR host.example.test.
child IN NS ns1.child
child IN DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118
child IN DS 60485 13 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A
ns1.child IN A 192.0.2.53
@ IN DNSKEY 256 3 8 ${bigKey(1)}
@ IN DNSKEY 256 3 8 ${bigKey(2)}
@ IN DNSKEY 257 3 8 ${bigKey(3)}
www IN CNAME web
web 30 IN CNAME real
real 15 IN A 192.0.2.80
dangling IN CNAME nowhere
outside IN CNAME www.example.net.
*.wild IN A 192.0.2.42
*.wild IN TXT "wild"
dot\.label IN A 192.0.2.99
oct\200et IN A 192.0.2.98
_under_score IN A 192.0.2.97
empty.nonterminal IN A 192.0.2.96
many IN A 192.0.2.10
`
  .concat(Array.from({ length: 250 }, (_, index) => `many IN A 198.51.100.${index}`).join('\n'))
  .concat('\n')
