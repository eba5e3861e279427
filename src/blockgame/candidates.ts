import type { ServerCheckFailure } from '../domain/server-status.ts'

/** An address and port to connect to, and the SRV record that led there. */
export interface Destination {
  /** Canonical text of the address. */
  readonly ip: string
  /** TCP port. */
  readonly port: number
  /** The SRV record that was followed; null if there is none. */
  readonly srvRecord: { readonly host: string; readonly port: number } | null
}

interface Rank {
  readonly ipv4: Destination[]
  readonly ipv6: Destination[]
  /** Whether the next one is of IPv6. */
  ipv6Next: boolean
}

/**
 * The destinations of a lookup that have not been tried, best first. More may come while others are tried.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-3 | RFC 8305 section 3}
 */
export class Candidates {
  /** Why there is nothing to try if nothing came; undefined as long as more may come. */
  failure: ServerCheckFailure | undefined
  /** Called when there is another destination, or when nothing more comes. */
  onChange: () => void = ignore
  readonly #ranks: (Rank | undefined)[] = []
  readonly #slow: Destination[] = []

  /** Returns candidates that are all known. */
  static of(destinations: readonly Destination[]): Candidates {
    const candidates = new Candidates()
    candidates.add(0, destinations)
    candidates.failure = 'refused'
    return candidates
  }

  /** Adds destinations of the SRV target with this rank, 0 being the best. */
  add(rank: number, destinations: readonly Destination[]): void {
    const { ipv4, ipv6 } = (this.#ranks[rank] ??= { ipv4: [], ipv6: [], ipv6Next: false })
    for (const destination of destinations) (destination.ip.includes(':') ? ipv6 : ipv4).push(destination)
    if (destinations.length > 0) this.onChange()
  }

  /** Takes back destinations that were too slow to have failed. They come first again. */
  putBack(destinations: readonly Destination[]): void {
    this.#slow.push(...destinations)
  }

  /** Says that nothing more comes, and why there is nothing if nothing came. */
  end(failure: ServerCheckFailure): void {
    this.failure = failure
    this.onChange()
  }

  /**
   * Removes and returns the next destination: of the best target that has one, IPv4 first as in the game, then from both
   * families in turn, so that one that does not work holds up no lookup.
   *
   * @see {@link https://www.rfc-editor.org/rfc/rfc8305#section-4 | RFC 8305 section 4}
   */
  take(): Destination | undefined {
    const again = this.#slow.shift()
    if (again !== undefined) return again
    const rank = this.#best()
    if (rank === undefined) return undefined
    const destination = rank.ipv6Next
      ? (rank.ipv6.shift() ?? rank.ipv4.shift())
      : (rank.ipv4.shift() ?? rank.ipv6.shift())
    rank.ipv6Next = destination !== undefined && !destination.ip.includes(':')
    return destination
  }

  /** Whether nothing is left to try and nothing more comes. */
  get exhausted(): boolean {
    return this.failure !== undefined && this.#slow.length === 0 && this.#best() === undefined
  }

  /** A better target may not have been added yet. */
  #best(): Rank | undefined {
    return this.#ranks.find((each) => each !== undefined && each.ipv4.length + each.ipv6.length > 0)
  }
}

function ignore(): void {}
