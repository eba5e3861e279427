/** What determines the order of an SRV record, and what the record leads to. */
export interface SrvRecord {
  /** Priority, lowest first. */
  readonly pri: number
  /** Share among records of one priority. */
  readonly weight: number
  /** TCP port. */
  readonly port: number
  /** Host name in ASCII without final dot. */
  readonly target: string
}

/**
 * Returns the first SRV records to try: by priority, and drawn by weight within a priority.
 *
 * @param count - How many to return at most. Each takes as long as there are records, of which a zone may have
 *   thousands.
 * @param random - A number from 0 up to but not including 1. Default: `Math.random`.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc2782 | RFC 2782}, "Weight"
 */
export function orderSrvRecords(
  records: readonly SrvRecord[],
  count: number,
  random: () => number = Math.random,
): SrvRecord[] {
  const ordered: SrvRecord[] = []
  // Weight 0 comes first, which gives it a very small chance.
  const left = records.toSorted((a, b) => a.pri - b.pri || a.weight - b.weight)
  while (left.length > 0 && ordered.length < count) {
    const priority = left[0]?.pri
    const peers = left.filter(({ pri }) => pri === priority)
    const [drawn] = left.splice(drawByWeight(peers, random), 1)
    if (drawn) ordered.push(drawn)
  }
  return ordered
}

function drawByWeight(peers: readonly SrvRecord[], random: () => number): number {
  const total = peers.reduce((sum, { weight }) => sum + weight, 0)
  const drawn = Math.floor(random() * (total + 1))
  let running = 0
  return peers.findIndex(({ weight }) => (running += weight) >= drawn)
}
