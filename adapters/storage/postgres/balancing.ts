import { StorageError } from 'utility-api/storage'

const texts: Map<string, string> = new Map()

/**
 * Puts a comment before a SELECT, which makes pgpool-II send it to the primary even if it balances reads
 * (`load_balance_mode`). A standby may not yet have what was just revoked or issued.
 *
 * @see {@link https://www.pgpool.net/docs/latest/en/html/runtime-config-load-balancing.html}
 */
export function onPrimary(text: string): string {
  const known = texts.get(text)
  if (known !== undefined) return known
  const made = `/*NO LOAD BALANCE*/ ${text.trimStart()}`
  texts.set(text, made)
  return made
}

/** Whether a standby reads this: 'on', 'off', or NULL before PostgreSQL 14. pgpool-II balances this as any other read. */
export const askedOfStandby: string = "current_setting('in_hot_standby', true)"

/**
 * Asks once more, with a function that may write by its declaration, so what balances reads sends it to the primary.
 */
export const isStandby: string = 'SELECT pg_is_in_recovery() AS standby'

/**
 * Throws if a standby has read the schema, but is not where writes go, because then reads are balanced in spite of the
 * comment. A pool that leads to nothing but a standby may read.
 */
export async function requireUnbalanced(
  readByStandby: string | null | undefined,
  askAgain: () => Promise<{ readonly rows: unknown[] }>,
): Promise<void> {
  if (readByStandby !== 'on') return
  const [row] = (await askAgain()).rows as { standby: boolean | string }[]
  if (row?.standby === true || row?.standby === 't') return
  const message =
    'Reads are sent to a standby, which does not have every write yet, and writes to the primary. Turn this off: in pgpool-II, set load_balance_mode = off.'
  throw new StorageError('invalid', message)
}
