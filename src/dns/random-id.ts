import { randomFillSync } from 'node:crypto'

const pool = new Uint16Array(1024)
let next = pool.length

/** Sixteen bits nobody can foresee. Drawn by the kilobyte: single draws cost ten times as much. */
export function randomId(): number {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  const id = pool[next] ?? 0
  next += 1
  return id
}
