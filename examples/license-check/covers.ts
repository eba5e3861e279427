import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** Tells whether a license for a host name, a wildcard or an IP address covers the host that the product runs on. */
export function covers(licensed: string, host: string): boolean {
  const [own, wanted] = [compared(host), compared(licensed)]
  if (own === '' || wanted === '') return false
  if (!wanted.startsWith('*.')) return own === wanted
  const dot = own.indexOf('.')
  return dot > 0 && isIP(own) === 0 && own.slice(dot) === wanted.slice(1)
}

/** Names in ASCII, in lower case and without final dot; IP addresses in one form; no port. */
function compared(text: string): string {
  const host = /^\[([^\]]+)\](?::\d*)?$/.exec(text)?.[1] ?? text.replace(/^([^:]*):\d*$/, '$1')
  if (isIP(host) === 4) return host
  if (isIP(host) === 6) return fourOfSix(new URL(`http://[${host}]`).hostname.slice(1, -1))
  const wildcard = host.startsWith('*.') ? '*.' : ''
  const ascii = domainToASCII(host.slice(wildcard.length).replace(/\.$/, ''))
  return ascii === '' ? '' : wildcard + ascii
}

/** `::ffff:c000:201` is 192.0.2.1. */
function fourOfSix(address: string): string {
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  return [high, low].flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255]).join('.')
}
