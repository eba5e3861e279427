import { ok, strictEqual } from 'node:assert/strict'
import type { LicensePage } from '../../ports/storage-listing.ts'
import type { BoundAdmin, BoundListing, RecordUse } from './bound.ts'
import { answerOf, clip, makeCalls, type Call } from './calls.ts'
import { inTurn, type ContractCase, type ContractContext } from './context.ts'
import { checkBursts } from './bursts.ts'
import {
  createModel,
  inAnyOrder,
  Unspecified,
  type Asked,
  type LicenseFilters,
  type Listed,
} from './model.ts'
import { createRandom } from './random.ts'

/** How many stores are created to shorten one failing history. */
const maxAttempts = 40

/** Returns a store in the form that histories call. */
function asked(
  admin: BoundAdmin,
  listing?: BoundListing | undefined,
  recordUse?: RecordUse | undefined,
): Asked {
  return {
    ...admin,
    list: async (what, limit) => (listing ? listAll(listing, what, limit) : []),
    listLicenses: async (filters, limit) => (listing ? listAll(listing, 'licenses', limit, filters) : []),
    noteUse: (...use) => recordUse?.(...use),
  }
}

async function listAll(
  listing: BoundListing,
  what: Listed,
  limit: number,
  filters: LicenseFilters = {},
): Promise<unknown> {
  const rows: object[] = []
  let after: string | undefined
  let pages = 0
  do {
    // oxlint-disable-next-line no-await-in-loop -- each page says where the next one starts
    const page = await pageOf(listing, what, { ...filters, limit, ...(after !== undefined && { after }) })
    rows.push(...page.rows)
    after = page.next
    pages += 1
    ok(pages < 10_000, 'a list must end')
  } while (after !== undefined)
  return what === 'licenses' ? rows : inAnyOrder(rows)
}

async function pageOf(
  listing: BoundListing,
  what: Listed,
  page: LicensePage,
): Promise<{ rows: readonly object[]; next?: string | undefined }> {
  if (what === 'clients') return withRows(await listing.clients(page), 'clients')
  if (what === 'resellers') return withRows(await listing.resellers(page), 'resellers')
  if (what === 'licenses') return withRows(await listing.licenses(page), 'licenses')
  return withRows(await listing.credentials({ ...page, kind: what }), 'credentials')
}

function withRows<Key extends string>(
  page: { readonly next?: string } & Readonly<Record<Key, readonly object[]>>,
  key: Key,
): { rows: readonly object[]; next: string | undefined } {
  return { rows: page[key], next: page.next }
}

interface Difference {
  /** Which call was answered differently. */
  readonly index: number
  readonly store: string
  readonly model: string
}

/** Makes the same calls to a store and the model. Returns the first answer that differs, or null. */
async function compare(store: Asked, calls: readonly Call[]): Promise<Difference | null> {
  let model = createModel()
  for (const [index, call] of calls.entries()) {
    const next = model.copy()
    const expected = answerOfModel(() => call.ask(next))
    // Skips calls whose answer the port leaves open, because neither it nor the answers after it could be judged.
    if (expected === null) continue
    model = next
    // oxlint-disable-next-line no-await-in-loop -- one after the other is what a history is
    const answer = await answerOf(() => call.ask(store))
    // oxlint-disable-next-line no-await-in-loop -- the model answers at once
    const wanted = await expected
    if (answer !== wanted) return { index, store: answer, model: wanted }
  }
  return null
}

/** Returns the model's answer, or null if the port leaves the answer open. */
function answerOfModel(ask: () => unknown): Promise<string> | null {
  try {
    const value = ask()
    return answerOf(() => value)
  } catch (error) {
    if (error instanceof Unspecified) return null
    return answerOf(() => {
      throw error
    })
  }
}

/** Finds fewer calls that still show a difference: removes half of them, then a quarter, and so on. */
async function shorten(
  calls: readonly Call[],
  fails: (calls: readonly Call[]) => Promise<Difference | null>,
): Promise<readonly Call[]> {
  let shortest = calls
  let attempts = 0
  let size = Math.ceil(calls.length / 2)
  let start = 0
  while (attempts < maxAttempts && shortest.length > 1) {
    const rest = [...shortest.slice(0, start), ...shortest.slice(start + size)]
    // The last call is the one that shows the difference.
    const isTail = start + size >= shortest.length
    // oxlint-disable-next-line no-await-in-loop -- each attempt goes on from the one before
    const difference = isTail ? null : await fails(rest)
    if (!isTail) attempts += 1
    if (difference !== null) shortest = rest.slice(0, difference.index + 1)
    else start += size
    if (start < shortest.length) continue
    if (size === 1) break
    size = Math.ceil(size / 2)
    start = 0
  }
  return shortest
}

function describeCalls(calls: readonly Call[]): string {
  return calls.map(({ text }, index) => `  ${index + 1}. ${clip(text)}`).join('\n')
}

async function checkHistory(context: ContractContext & { admin: BoundAdmin }, seed: number): Promise<void> {
  const lists = context.listing !== undefined
  const uses = context.recordUse !== undefined
  const calls = makeCalls(createRandom(seed), context.history.calls, { lists, uses })
  const fails = async (some: readonly Call[]): Promise<Difference | null> => {
    let difference: Difference | null = null
    await context.fresh(async ({ admin = context.admin, listing, recordUse }) => {
      difference = await compare(asked(admin, listing, recordUse), some)
    })
    return difference
  }
  const first = await fails(calls)
  if (first === null) return
  const shortest = await shorten(calls.slice(0, first.index + 1), fails)
  const { store, model } = (await fails(shortest)) ?? first
  const message = `Seed ${seed}: the last of these calls has another answer than the model gives:\n${describeCalls(shortest)}\n`
  strictEqual(clip(store), clip(model), `${message}store: ${clip(store)}\nmodel: ${clip(model)}`)
  ok(false, message)
}

export const historyCases: readonly ContractCase[] = [
  {
    name: 'a random history is answered as the port says, call by call, or a mistake hides where no other case looks',
    needs: ['admin'],
    run: (context) => inTurn(context.history.seeds, (seed) => checkHistory(context, seed)),
  },
  {
    name: 'random bursts over two instances are answered as in some order, or two servers give answers that one never would',
    needs: ['admin', 'secondAdmin'],
    run: ({ admin, secondAdmin, history }) =>
      inTurn(history.seeds, (seed) =>
        checkBursts([asked(admin), asked(secondAdmin)], seed, history.calls / 4),
      ),
  },
]
