import { writeFileSync } from 'node:fs'
import type { AdminStorage } from 'utility-api/storage'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'
import {
  storageContract,
  type StorageContractCase,
  type StorageFixture,
} from '../../src/testing/storage-contract.ts'
import { faults, plantedBeside, plantedInside, type Asked, type Fault } from './support/faults.ts'
import {
  comparedColumns,
  lists,
  methods,
  ownStorage,
  schemaOf,
  transact,
  type Transact,
} from './support/own-adapter.ts'
import { startServer, type OwnServer } from './support/own-server.ts'

// Each kind of fault in each method that it can be planted in, in the memory store and in an adapter in SQL. `npm test` plants
// one of many, `npm run test:long` more, MATRIX_PART=1 all; MATRIX_TABLE=file writes the table there.

const part = Number(process.env['MATRIX_PART'] ?? 80)
const isWhole = part === 1
const names = [...Object.keys(methods), ...Object.keys(lists)].filter((name) => name !== 'ping')

/** A fault in one place, and how to make a store that has it. */
interface Cell {
  readonly store: 'memory' | 'SQL'
  readonly kind: string
  readonly place: string
  /** Stores as those of a real adapter; what puts rows in beside one that is cut is not cut. */
  readonly makes: readonly (() => StorageFixture)[]
}

/** Why nobody could see a fault; null where somebody can. */
function whyUnseen(kind: string, place: string): string | null {
  const found = unseen.find(([ofKind, inPlace]) => ofKind.test(kind) && inPlace.test(place))
  return found?.[2] ?? null
}

const unseen: readonly (readonly [kind: RegExp, place: RegExp, why: string])[] = [
  [/begins what nobody waits for/, /./, 'done and answered: a store in which no call waits may do that'],
  [/commits each write by itself/, /^revoke|purge/, 'a part of it is right too, and a repeat finishes it'],
  [/counts changed rows/, /rotateClientSecret/, 'a new secret is never the one that is there'],
  [/counts changed rows/, /redeem|revoke/, 'what is written there was null before'],
  [
    /reads a snapshot/,
    /insertCredential/,
    'resellers stay: one that is seen late was not there when it was asked',
  ],
  [/reads a snapshot/, /revokeAccessTokensOfCode/, 'as if it had been asked before the exchange'],
  [/without a transaction/, /insertCredential/, 'the table refuses what is taken, and resellers stay'],
  [/tries again after/, /update|changeLicense|recordUse/, 'the same change once more is the same'],
  [/came too late/, /recordUse/, 'the report that is made again is the same'],
  [/decides by what it read before/, /recordUse/, 'it answers nothing, whatever it decided'],
  [/caches what it found/, /^findReseller$/, 'resellers stay as they are'],
  [/pages by counting rows/, /^(?:clients|resellers)$/, 'rows of these lists never go'],
]

function inMemory(fault: Fault, place: string): Cell | null {
  if (plantedBeside(fault, place, memoryStorage()) === null) return null
  const make = (): StorageFixture => {
    const good = memoryStorage()
    const broken = (): AdminStorage => plantedBeside(fault, place, good) as AdminStorage
    const storage = broken()
    return { storage, second: fault.inProcess ? storage : broken(), close() {} }
  }
  return { store: 'memory', kind: fault.kind, place, makes: [make] }
}

function inSql(fault: Fault, place: string): Cell | null {
  if (fault.inProcess) return null
  const inside = plantedInside(fault, place)
  if (inside !== null)
    return sqlCell(fault.kind, place, schemaOf(), (server) =>
      ownStorage(server, (name): Transact => (name === place ? inside : transact)),
    )
  if (plantedBeside(fault, place, ownStorage(startServer(schemaOf()))) === null) return null
  return sqlCell(
    fault.kind,
    place,
    schemaOf(),
    (server) => plantedBeside(fault, place, ownStorage(server)) as AdminStorage,
  )
}

function sqlCell(
  kind: string,
  place: string,
  schema: string,
  store: (server: OwnServer) => AdminStorage,
): Cell {
  const make = (): StorageFixture => {
    const server = startServer(schema)
    return { storage: store(server), second: store(server), disconnect: server.end, close() {} }
  }
  const makeCut = (): StorageFixture => {
    const server = startServer(schema)
    const seed = ownStorage(server.direct())
    return { storage: store(server), seed, cutAfter: server.cutAfter, close() {} }
  }
  return { store: 'SQL', kind, place, makes: [make, makeCut] }
}

/** A collation in one column, as databases have them by default. */
const collated: readonly Cell[] = ['NOCASE', 'RTRIM'].flatMap((collation) =>
  comparedColumns.map((place) =>
    sqlCell(
      `compares ${collation}`,
      place,
      schemaOf((column) => (column === place ? collation : 'BINARY')),
      (server) => ownStorage(server),
    ),
  ),
)

const isCut = ({ name }: StorageContractCase): boolean => /\bcut\b/.test(name)
const isHistory = ({ name }: StorageContractCase): boolean => /^(?:a )?random /.test(name)

function casesOf({ makes: [make, makeCut] }: Cell): StorageContractCase[] {
  return [make ?? [], makeCut ?? []].flatMap((each, index) =>
    typeof each === 'function' ? storageContract(each).filter((one) => isCut(one) === (index === 1)) : [],
  )
}

/** In which methods a fault has something to do, by what the suite asks a store that is right. */
async function placesOf(): Promise<(fault: Fault, place: string) => boolean> {
  const places = new Set<string>()
  function watch(asked: Asked): void {
    for (const { kind, changes } of faults) {
      const place = `${kind}: ${asked.place}`
      if (!places.has(place) && changes?.(asked) !== false) places.add(place)
    }
  }
  function watched(server: OwnServer): AdminStorage {
    return ownStorage(server, (place, args): Transact => async (state, call, work) => {
      const sql: string[] = []
      const answer = transact(state, call, (db) =>
        work({
          all: (text, ...values) => (sql.push(text), db.all(text, ...values)),
          run: (text, ...values) => (sql.push(text), db.run(text, ...values)),
        }),
      )
      await answer.then(
        (value) => watch({ place, args, answer: value, error: undefined, sql }),
        (error: unknown) => watch({ place, args, answer: null, error, sql }),
      )
      return answer
    })
  }
  const cell = sqlCell('none', '', schemaOf(), watched)
  // oxlint-disable-next-line no-await-in-loop -- case after case, as it is run
  for (const { run } of casesOf({ ...cell, makes: cell.makes.slice(0, 1) })) await run()
  return ({ kind }, place) => places.has(`${kind}: ${place}`)
}

/** What found something last is asked first: neighbors are wrong alike. */
const recent: string[] = []

function sooner(one: StorageContractCase, other: StorageContractCase): number {
  return recent.indexOf(other.name) - recent.indexOf(one.name)
}

/** The name of a case that fails, or null. */
async function firstFailure(cases: readonly StorageContractCase[]): Promise<string | null> {
  for (const { name, run } of cases) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- up to the first that fails
      await run()
    } catch {
      if (recent.includes(name)) recent.splice(recent.indexOf(name), 1)
      recent.push(name)
      return name
    }
  }
  return null
}

interface Finding extends Omit<Cell, 'makes'> {
  /** The case that fails, and the history that does. */
  readonly named: string | null
  readonly history: string | null
}

async function judge(cell: Cell): Promise<Finding> {
  const { makes: _, ...where } = cell
  const cases = casesOf(cell)
  const named = await firstFailure(cases.filter((each) => !isHistory(each)).toSorted(sooner))
  const history = isWhole || named === null ? await firstFailure(cases.filter(isHistory)) : null
  return { ...where, named, history }
}

test(
  isWhole ? 'every fault is caught in every method' : `one fault in ${part} is caught in its method`,
  async () => {
    const hasPlace = await placesOf()
    const planted = faults.flatMap((fault) =>
      names.flatMap((name) => (hasPlace(fault, name) ? [inMemory(fault, name), inSql(fault, name)] : [])),
    )
    const cells = [...collated, ...planted.filter((cell) => cell !== null)]
    const findings: Finding[] = []
    for (const [index, cell] of cells.entries())
      // oxlint-disable-next-line no-await-in-loop -- cell after cell
      if (index % part === 0) findings.push(await judge(cell))
    const missed = findings.filter(
      ({ named, history, kind, place }) => !named && !history && !whyUnseen(kind, place),
    )
    if (process.env['MATRIX_TABLE'] !== undefined)
      writeFileSync(process.env['MATRIX_TABLE'], tableOf(findings))
    expect(missed.map(({ store, kind, place }) => `${store}: ${kind} in ${place}`)).toEqual([])
    const byHistory = findings.filter(({ history }) => history !== null)
    if (isWhole) expect(byHistory.length).toBeGreaterThan(10)
  },
  3_000_000,
)

/** A line for each cell: what caught it, by a case and by a history. */
function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map(({ store, kind, place, named, history }) => {
    const why = named === null && history === null ? `unseen: ${whyUnseen(kind, place) ?? 'NOT CAUGHT'}` : ''
    return [store, kind, place, named ?? why, history ?? ''].join('\t')
  })
  return ['store\tfault\tplace\tcase\thistory', ...rows, ''].join('\n')
}
