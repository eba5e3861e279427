import { comparedDomain, type StorageCall } from 'utility-api/storage'
import type { Access } from './access.ts'

/** How many forms one statement makes: a longer one would hold up everybody else's writes. */
const portion = 250

/**
 * Finds the licenses whose compared form was made for an older text, or never. A server of step 1 does not know of it,
 * and `current_domain` is NULL after it has changed the domain.
 */
const findOutdated = `
  SELECT seq, domain_or_ip FROM utility_api_licenses FORCE INDEX (current_domain)
  WHERE current_domain IS NULL AND seq > ? ORDER BY seq LIMIT ${portion}`

const listOf = (text: string): string => Array.from({ length: portion }, () => text).join(' ')

/** A text that was changed since it was read stays outdated, as the form is not of it. */
const renew = `
  UPDATE utility_api_licenses SET
    compared_domain = CASE seq ${listOf('WHEN ? THEN ?')} END,
    compared_of = CASE seq ${listOf('WHEN ? THEN ?')} END,
    revision = revision + 1
  WHERE seq IN (${listOf('?').replaceAll(' ', ', ')})`

/**
 * Makes the compared forms that are missing or of an older text, portion by portion, in the order of an index. Returns
 * whether there were any.
 */
export async function renewComparedDomains(
  { read, write }: Access,
  callForPortion: () => StorageCall,
): Promise<boolean> {
  let wereOutdated = false
  let after: number | undefined = 0
  while (after !== undefined) {
    const start: number = after
    // oxlint-disable-next-line no-await-in-loop -- portion after portion, so that others write in between
    const rows = await read(callForPortion(), (db) =>
      db.rows<{ seq: number; domain_or_ip: string }>(findOutdated, start),
    )
    const [first] = rows
    if (first === undefined) break
    wereOutdated = true
    // As many rows as the statement has placeholders: one that is named twice is changed once.
    const all = Array.from({ length: portion }, (_, index) => rows[index] ?? first)
    const values = [
      ...all.flatMap(({ seq, domain_or_ip: text }) => [seq, comparedDomain(text)]),
      ...all.flatMap(({ seq, domain_or_ip: text }) => [seq, text]),
      ...all.map(({ seq }) => seq),
    ]
    // oxlint-disable-next-line no-await-in-loop -- as above
    await write(callForPortion(), (db) => db.count(renew, ...values))
    after = rows.length < portion ? undefined : rows.at(-1)?.seq
  }
  return wereOutdated
}
