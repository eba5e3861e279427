import { comparedDomain, type StorageCall } from 'utility-api/storage'
import type { PostgresAccess } from './access.ts'
import { currentForm } from './domain-index.ts'

/** Ordered by both columns of the index: by `seq` alone, the planner could read all licenses in the order of theirs. */
const findOutdated = `
  SELECT seq, domain_or_ip FROM utility_api_licenses WHERE ${currentForm} IS NULL AND seq > $1
  ORDER BY ${currentForm}, seq LIMIT $2`

const renew = `
  UPDATE utility_api_licenses AS license SET compared_domain = made.form, compared_of = made.text
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS made (seq, text, form)
  WHERE license.seq = made.seq AND license.domain_or_ip = made.text`

/** How many forms one statement makes: a longer one would hold up everybody else's writes. */
const portion = 1000

/**
 * Makes the compared forms that are missing or of an older text, portion by portion, in the order of an index. Returns
 * whether there were any.
 */
export async function renewComparedDomains(
  db: PostgresAccess,
  callForPortion: () => StorageCall,
): Promise<boolean> {
  let wereOutdated = false
  let after: string | undefined = '0'
  while (after !== undefined) {
    // oxlint-disable-next-line no-await-in-loop -- portion after portion, so that others write in between
    const rows: { seq: string; domain_or_ip: string }[] = await db.rows(
      callForPortion(),
      findOutdated,
      after,
      portion,
    )
    wereOutdated ||= rows.length > 0
    const seqs = rows.map(({ seq }) => seq)
    const texts = rows.map((row) => row.domain_or_ip)
    if (rows.length > 0)
      // oxlint-disable-next-line no-await-in-loop -- as above
      await db.count(callForPortion(), renew, seqs, texts, texts.map(comparedDomain))
    after = rows.length < portion ? undefined : seqs.at(-1)
  }
  return wereOutdated
}
