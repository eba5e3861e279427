import { networkInterfaces } from 'node:os'

const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])

/** Whether servers can listen on `::1` here; without IPv6, what needs it is skipped. */
export const hasIpv6: boolean = addresses.some(({ address }) => address === '::1')

/** The addresses of this machine that servers can listen on. */
export const loopbacks: readonly ('127.0.0.1' | '::1')[] = hasIpv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']
