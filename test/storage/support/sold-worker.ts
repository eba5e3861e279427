/**
 * A process of a shop: fifty reports of each payment at once, payment after payment. Says after each what was sold.
 *
 * node --import test/support/sources.ts sold-worker.ts TARGET FROM TO
 */
import { createAdmin } from 'utility-api'
import { openRaceStore } from '../../http/support/race-store.ts'

export interface Sold {
  readonly payment: number
  readonly keys: readonly string[]
  readonly created: number
}

const [target = '', from = '0', to = '0'] = process.argv.slice(2)
const { storage, close } = openRaceStore(target)
const admin = createAdmin({ storage })
const fields = { resellerId: 'shop', registeredTo: 'Ada', domainOrIp: 'shop.example' }

for (let payment = Number(from); payment < Number(to); payment += 1) {
  const reports = Array.from({ length: 50 }, () =>
    admin.createLicense({ ...fields, reference: `pay_${payment}` }),
  )
  // oxlint-disable-next-line no-await-in-loop -- payment after payment, so that both processes are at the same one
  const licenses = await Promise.all(reports)
  const keys = [...new Set(licenses.map(({ licenseKey }) => licenseKey))]
  process.send?.({ payment, keys, created: licenses.filter(({ created }) => created).length } satisfies Sold)
}
await close()
process.disconnect()
