import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { NewAdminLicense } from 'utility-api'

/** A license of another system, and its key as the customer types it. */
export interface OddRow {
  readonly row: NewAdminLicense & { readonly licenseKey: string }
  readonly typed: string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

function symbols(count: number): string {
  return Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join('')
}

function groups(count: number, size: number): string {
  return Array.from({ length: count }, () => symbols(size)).join('-')
}

/** The shapes of keys that other systems sell. */
const shapes: readonly (() => string)[] = [
  randomUUID,
  () => `Owned-${randomBytes(10).toString('hex')}`,
  // Ours, but for the check symbols, which are right once in a thousand times.
  () => `LIC-${groups(5, 5)}`,
  () => `lic-${groups(5, 5).toLowerCase()}`,
  () => groups(5, 5),
  () => groups(4, 4),
  () => `LIC${symbols(25)}`,
  () => `ACME ${groups(3, 4).replaceAll('-', ' ')}`,
  () => `key_${randomBytes(24).toString('base64')}`,
  () => `${symbols(20)}.${randomBytes(50 + randomInt(60)).toString('base64url')}`,
]

/** Returns rows of all shapes in turn. The customer copies the key, now and then with a blank or a line end around it. */
export function oddRows(count: number): OddRow[] {
  return Array.from({ length: count }, (_, at) => {
    const licenseKey = shapes[at % shapes.length]?.() ?? ''
    const row = { resellerId: 'shop', licenseKey, registeredTo: `Customer ${at}`, domainOrIp: 'shop.example' }
    return { row, typed: at % 3 === 0 ? ` ${licenseKey}\n` : licenseKey }
  })
}
