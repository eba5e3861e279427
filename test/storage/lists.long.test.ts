/** Every list at length: pages without a gap or a repeat, while rows come and go on another instance of the store. */
import { newLicense } from './support/license.ts'
import { hash } from 'node:crypto'
import type { AdminStorage, Credential, CredentialKind } from 'utility-api/storage'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from './support/call.ts'
import { whyNoMysql } from './support/mysql-server.ts'
import { pairs, runCleanUp, type CleanUp, type Pair } from './support/pairs.ts'

/** LIST_ROWS sets how many rows each list has. */
const rows = Number(process.env['LIST_ROWS'] ?? 300)
const limit = Math.max(10, Math.min(250, Math.floor(rows / 20)))

/** Rows that are inserted at once. */
const batch = 50

/** Before and after which rows are that come while a list is read. */
const [oldest, latest] = [1_000_000, 9_000_000]

interface Page {
  readonly ids: string[]
  readonly next?: string
}

/** A kind of rows that are listed. */
interface Listed {
  readonly insert: (storage: AdminStorage, id: string, createdAt: number) => unknown
  readonly list: (storage: AdminStorage, page: { after?: string; limit: number }) => Promise<Page>
  /** Deletes one for good; absent where rows stay. */
  readonly remove?: (storage: AdminStorage, id: string) => unknown
}

function secretHash(text: string): Uint8Array {
  return hash('sha256', text, 'buffer')
}

function listingOf({ listing }: AdminStorage): NonNullable<AdminStorage['listing']> {
  if (listing === undefined) throw new Error('The store lists nothing.')
  return listing
}

function credentials(kind: CredentialKind, owner?: string): Listed {
  return {
    insert: (storage, id, createdAt) => {
      const owned = { ownerId: owner ?? 'reseller', subject: null, scope: 'a' }
      const credential: Credential = { id, ...owned, createdAt, expiresAt: null, revokedAt: null }
      return storage.insertCredential(kind, secretHash(id), credential, call)
    },
    async list(storage, page) {
      const ownerId = owner === undefined ? {} : { ownerId: owner }
      const found = await listingOf(storage).credentials({ ...page, kind, ...ownerId }, call)
      return { ids: found.credentials.map(({ id }) => id), ...nextOf(found) }
    },
  }
}

function licenses(reseller?: string): Listed {
  return {
    insert: (storage, licenseKey, createdAt) => {
      const license = newLicense(licenseKey, { resellerId: reseller ?? 'anybody', createdAt })
      return storage.insertLicense(license, undefined, call)
    },
    async list(storage, page) {
      const resellerId = reseller === undefined ? {} : { resellerId: reseller }
      const found = await listingOf(storage).licenses({ ...page, ...resellerId }, call)
      return { ids: found.licenses.map(({ licenseKey }) => licenseKey), ...nextOf(found) }
    },
    remove: (storage, licenseKey) => storage.deleteLicense(licenseKey, call),
  }
}

function nextOf({ next }: { readonly next?: string | undefined }): { next?: string } {
  return next === undefined ? {} : { next }
}

const lists: Readonly<Record<string, Listed>> = {
  clients: {
    insert: (storage, clientId, createdAt) => {
      const client = { clientId, secretHashes: [secretHash(clientId)], redirectUris: [] }
      return storage.insertClient({ ...client, createdAt, revokedAt: null }, call)
    },
    async list(storage, page) {
      const found = await listingOf(storage).clients(page, call)
      return { ids: found.clients.map(({ clientId }) => clientId), ...nextOf(found) }
    },
  },
  resellers: {
    insert: (storage, resellerId, createdAt) => storage.insertReseller({ resellerId, createdAt }, call),
    async list(storage, page) {
      const found = await listingOf(storage).resellers(page, call)
      return { ids: found.resellers.map(({ resellerId }) => resellerId), ...nextOf(found) }
    },
  },
  'licenses of one reseller': licenses('reseller'),
  licenses: licenses(),
  'access tokens of one client': credentials('access_token', 'client'),
  'access tokens': credentials('access_token'),
  'reseller tokens': credentials('reseller_token'),
  'API keys': credentials('api_key'),
}

/** So many at a time, in order: a list is in the order of insertion where no other is said. */
async function insertAll(storage: AdminStorage, { insert }: Listed, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += batch) {
    // Ten to a millisecond, so that pages end between rows of one time.
    const some = ids.slice(from, from + batch)
    // oxlint-disable-next-line no-await-in-loop
    await Promise.all(some.map((id, at) => insert(storage, id, oldest + Math.floor((from + at) / 10))))
  }
}

/** Reads a list to its end while the other instance inserts and deletes; what was seen. */
async function readMeanwhile([storage, other]: Pair, listed: Listed, doomed: string[]): Promise<string[]> {
  const seen: string[] = []
  const over = new AbortController()
  let come = 0
  async function write(): Promise<void> {
    while (!over.signal.aborted) {
      come += 1
      // One behind the reader, one in its midst and one ahead, as clocks that differ make them.
      for (const time of [oldest - 1, oldest + Math.floor(rows / 20), latest]) {
        // oxlint-disable-next-line no-await-in-loop
        await listed.insert(other, `come-${time}-${come}-${Math.random()}`, time)
      }
      const gone = doomed.pop()
      // oxlint-disable-next-line no-await-in-loop
      if (gone !== undefined) await listed.remove?.(other, gone)
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const writing = write()
  try {
    let after: string | undefined
    do {
      // oxlint-disable-next-line no-await-in-loop
      const page = await listed.list(storage, { limit, ...(after === undefined ? {} : { after }) })
      expect(page.ids.length).toBeLessThanOrEqual(limit)
      seen.push(...page.ids)
      after = page.next
      // Time for the other instance.
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setImmediate(resolve))
      // What comes at the end while the end is read would have no end.
      if (page.ids.some((id) => id.startsWith(`come-${latest}`))) over.abort()
    } while (after !== undefined)
  } finally {
    over.abort()
    await writing
  }
  expect(come).toBeGreaterThan(0)
  return seen
}

const cleanUp: CleanUp = []
afterAll(() => runCleanUp(cleanUp), 60_000)

describe.for(Object.keys(pairs))('on %s', (name) => {
  let pair: Pair
  const missing = name === 'MySQL' ? whyNoMysql() : null
  beforeAll(async () => {
    if (missing === null) pair = (await pairs[name]?.(cleanUp)) as Pair
  }, 60_000)

  test.for(Object.entries(lists))(
    `${rows} %s are listed page by page, each once, while others come and go`,
    { timeout: 60_000 + rows * 20 },
    async ([what, listed], { task, skip }) => {
      if (missing !== null) skip(missing)
      const [storage] = pair
      // Tokens of resellers need one.
      await storage.insertReseller({ resellerId: 'reseller', createdAt: 1 }, call)
      // Names that sort against their times: paging by name would turn the list around.
      const ids = Array.from({ length: rows }, (_, index) => `${what}-${900_000 - index}`)
      const doomed = ids.filter((_, index) => listed.remove !== undefined && index % 7 === 3)
      await insertAll(storage, listed, ids)
      const seen = await readMeanwhile(pair, listed, doomed.toReversed())
      Object.assign(task.meta, { figures: { rows, seen: seen.length } })
      expect(new Set(seen).size, 'nothing twice').toBe(seen.length)
      const gone = new Set(doomed)
      const stayed = ids.filter((id) => !gone.has(id))
      const seenOfThem = seen.filter((id) => !gone.has(id) && id.startsWith(`${what}-`))
      expect(seenOfThem.toSorted(), 'no gap').toEqual(stayed.toSorted())
      const places = new Map(ids.map((id, index) => [id, index]))
      const batches = seenOfThem.map((id) => Math.floor((places.get(id) ?? 0) / batch))
      expect(batches, 'oldest first').toEqual(batches.toSorted((one, another) => one - another))
    },
  )
})
