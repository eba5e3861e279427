import { comparedDomain, type StorageCall } from 'utility-api/storage'
import type { SqliteAccess } from './access.ts'

/**
 * The compared form of a license's domain, or NULL if it was made for an older text, or never: a server of step 2 does
 * not know of it.
 */
export const currentForm: string = 'CASE WHEN compared_of = domain_or_ip THEN compared_domain END'

/** How many forms one transaction makes: it holds up the event loop and everybody else's writes. */
const portion = 500

const findOutdated = `
  SELECT seq, domain_or_ip FROM utility_api_licenses WHERE ${currentForm} IS NULL AND seq > ?
  ORDER BY seq LIMIT ${portion}`

const renew = `
  UPDATE utility_api_licenses SET compared_domain = ?, compared_of = domain_or_ip
  WHERE seq = ? AND domain_or_ip = ?`

/** Makes the compared forms that are missing or of an older text, portion by portion, in the order of an index. */
export async function renewComparedDomains(
  { read, write }: SqliteAccess,
  callForPortion: () => StorageCall,
): Promise<void> {
  let after: number | undefined = 0
  while (after !== undefined) {
    const start: number = after
    // oxlint-disable-next-line no-await-in-loop -- portion after portion, so that others write in between
    const rows = await read(callForPortion(), (db) =>
      db.all<{ seq: number; domain_or_ip: string }>(findOutdated, start),
    )
    if (rows.length > 0)
      // oxlint-disable-next-line no-await-in-loop -- as above
      await write(callForPortion(), (db) => {
        for (const { seq, domain_or_ip: text } of rows) db.run(renew, comparedDomain(text), seq, text)
      })
    after = rows.length < portion ? undefined : Number(rows.at(-1)?.seq)
  }
}
