import { refusal, refused, type Refusal } from '../domain/errors.ts'
import type { Callers } from './callers.ts'

/**
 * Counts the octets that are held in memory for callers: what is being collected for an answer, and answers that are not
 * written yet.
 */
export interface OctetBudget {
  /**
   * Counts an answer against a caller, once however many of the caller's replies share it. Returns a function that ends
   * this for one reply, or undefined for an answer that is too small to count. Throws `unavailable` if the caller's share
   * or the whole is used up.
   */
  hold(caller: string, answer: { readonly octets: number }): (() => void) | undefined
  /** Opens an account for work that several callers may share. Each octet counts against one of them. */
  collect(callers: Callers): Collecting
  /** How many octets are counted, and against how many callers. */
  readonly size: { readonly octets: number; readonly callers: number }
}

/** What one piece of work has collected. */
export interface Collecting {
  /** Counts so many octets more. Throws `unavailable` if none of the callers has room, or after the end. */
  add(octets: number): void
  /** Ends the count of everything that was added. */
  end(): void
}

/** The refusal of a request whose answer would not fit. */
export const tooManyOctets: Refusal = refusal('unavailable', 'Too many large answers are under way.')

/**
 * Smaller answers and parts are not counted, because there are only a few of them on each connection and in each check.
 */
const uncountedOctets = 4096

/** What is counted against one caller. */
interface Account {
  octets: number
  /** How many unwritten replies share each answer. */
  readonly replies: Map<object, number>
}

/** @param maxOctets - How many octets may be held for all callers together. One caller gets a quarter of them at most. */
export function createOctetBudget(maxOctets: number): OctetBudget {
  const maxPerCaller = Math.floor(maxOctets / 4)
  const accounts = new Map<string, Account>()
  let taken = 0

  function hasRoom(caller: string, octets: number): boolean {
    return taken + octets <= maxOctets && (accounts.get(caller)?.octets ?? 0) + octets <= maxPerCaller
  }

  function take(caller: string, octets: number): Account {
    const account = accounts.get(caller) ?? { octets: 0, replies: new Map<object, number>() }
    accounts.set(caller, account)
    account.octets += octets
    taken += octets
    return account
  }

  function giveBack(caller: string, octets: number): void {
    const account = accounts.get(caller)
    if (account === undefined) return
    account.octets -= octets
    taken -= octets
    if (account.octets === 0) accounts.delete(caller)
  }

  function letGo(caller: string, answer: { readonly octets: number }): void {
    const replies = accounts.get(caller)?.replies
    const left = (replies?.get(answer) ?? 0) - 1
    if (left > 0) return void replies?.set(answer, left)
    replies?.delete(answer)
    giveBack(caller, answer.octets)
  }

  return {
    hold(caller, answer) {
      if (answer.octets <= uncountedOctets) return undefined
      const replies = accounts.get(caller)?.replies.get(answer) ?? 0
      if (replies > 0) accounts.get(caller)?.replies.set(answer, replies + 1)
      else if (hasRoom(caller, answer.octets)) take(caller, answer.octets).replies.set(answer, 1)
      else throw full()
      return () => letGo(caller, answer)
    },
    collect(callers) {
      let collected: Map<string, number> | undefined
      let isOver = false
      return {
        add(octets) {
          if (octets <= uncountedOctets) return
          const caller = isOver ? undefined : [...callers.keys()].find((each) => hasRoom(each, octets))
          if (caller === undefined) throw full()
          take(caller, octets)
          collected ??= new Map()
          collected.set(caller, (collected.get(caller) ?? 0) + octets)
        },
        end() {
          isOver = true
          for (const [caller, octets] of collected ?? []) giveBack(caller, octets)
        },
      }
    },
    get size() {
      return { octets: taken, callers: accounts.size }
    },
  }
}

function full(): Error {
  return refused(tooManyOctets, { retryAfterSeconds: 1 })
}
