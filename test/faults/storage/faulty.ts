import { StorageError, type AdminStorage, type StorageCall, type UtilityStorage } from 'utility-api/storage'

/** What requests ask of storage. */
type Method = Exclude<keyof UtilityStorage, 'ping' | 'findLicense'>

/** A call that a store is asked for: what it would do, and how long somebody waits. */
export interface AskedCall {
  readonly method: Method
  readonly call: StorageCall
  readonly work: () => unknown
}

const methods: readonly Method[] = [
  'findClient',
  'findAuthorizationCode',
  'redeemAuthorizationCode',
  'revokeAccessTokensOfCode',
  'findCredential',
  'insertLicense',
  'updateLicense',
]

/** A store of which every call goes through `answer`, which does it, fails it, or both. */
export function faultyStorage(good: AdminStorage, answer: (asked: AskedCall) => unknown): AdminStorage {
  const entries = methods.map((method) => {
    const real = good[method] as (...args: unknown[]) => unknown
    return [
      method,
      (...args: unknown[]) => answer({ method, call: args.at(-1) as StorageCall, work: () => real(...args) }),
    ]
  })
  return { ...good, ...(Object.fromEntries(entries) as Pick<AdminStorage, Method>) }
}

export interface Fault {
  /** Whether the store does what it was asked for, whatever it says. */
  readonly works: boolean
  /** Whether it has its callers wait until they give up. */
  readonly waits: boolean
  readonly answer: (asked: AskedCall) => unknown
}

const broken = new Error('broken')
const never = (): Promise<never> => new Promise(() => {})
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What a store ever did to its callers; those that are late take `lateMs`. */
export function faults(lateMs: number): Readonly<Record<string, Fault>> {
  const instead = (answer: Fault['answer'], waits = false): Fault => ({ works: false, waits, answer })
  const after = (fault: () => unknown, waits = false): Fault => ({
    works: true,
    waits,
    answer: async ({ work }) => {
      await work()
      return fault()
    },
  })
  const kinds = ['unavailable', 'conflict', 'invalid', 'bug'] as const
  return {
    throws: instead(() => {
      throw broken
    }),
    'throws nothing': instead(() => {
      // oxlint-disable-next-line typescript/only-throw-error, no-throw-literal -- drivers do
      throw undefined
    }),
    rejects: instead(() => Promise.reject(broken)),
    'rejects with a text': instead(() => Promise.reject('broken')),
    ...Object.fromEntries(
      kinds.map((kind) => [`says ${kind}`, instead(() => Promise.reject(new StorageError(kind, 'broken')))]),
    ),
    'never answers': instead(never, true),
    'comes to it too late': instead(async ({ work, call }) => {
      await later(lateMs)
      if (call.timeLeftMs() <= 0) throw new StorageError('unavailable', 'too late')
      return work()
    }, true),
    'does it and throws': {
      works: true,
      waits: false,
      answer: ({ work }) => {
        void work()
        throw broken
      },
    },
    'does it and rejects': after(() => Promise.reject(broken)),
    'does it and never answers': after(never, true),
    'does it and answers late': {
      works: true,
      waits: true,
      answer: async ({ work }) => {
        const result = await work()
        await later(lateMs)
        return result
      },
    },
  }
}
