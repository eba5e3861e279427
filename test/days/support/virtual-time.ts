/** The timers and the monotonic clock of this process, while they stand still. */
export interface VirtualTime {
  /** Milliseconds since it was taken. */
  readonly now: number
  /** How many timers are set. */
  readonly timers: number
  /** Milliseconds until the next timer, or undefined if none is set. */
  untilNext(): number | undefined
  /** Moves on, and fires what becomes due in its order. After each, `settled` says when nothing more happens by itself. */
  advance(byMs: number, settled: () => Promise<void>): Promise<void>
  /** Gives the real ones back. */
  restore(): void
}

interface Timer {
  readonly id: number
  at: number
  readonly everyMs: number | undefined
  readonly fire: () => void
}

/** Stops the time of this process. Code that captured a timer function before goes on with that. */
export function takeTime(): VirtualTime {
  const real = { setTimeout, clearTimeout, setInterval, clearInterval }
  const timers = new Map<object, Timer>()
  let now = 0
  let last = 0

  function set(callback: () => void, ms = 0, everyMs?: number): object {
    // Node.js waits 1 ms for what it cannot wait for.
    const wait = ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
    const handle = { ref: () => handle, unref: () => handle, hasRef: () => true }
    timers.set(handle, { id: (last += 1), at: now + wait, everyMs, fire: callback })
    return handle
  }
  const clear = (handle: object | undefined): void => void (handle && timers.delete(handle))

  Object.assign(globalThis, {
    setTimeout: (callback: () => void, ms?: number) => set(callback, ms),
    setInterval: (callback: () => void, ms?: number) => set(callback, ms, ms),
    clearTimeout: clear,
    clearInterval: clear,
  })
  Object.defineProperty(performance, 'now', { value: () => now, configurable: true, writable: true })

  function next(): [object, Timer] | undefined {
    return [...timers].toSorted(([, a], [, b]) => a.at - b.at || a.id - b.id)[0]
  }

  return {
    get now() {
      return now
    },
    get timers() {
      return timers.size
    },
    untilNext() {
      const due = next()
      return due && due[1].at - now
    },
    async advance(byMs, settled) {
      const end = now + byMs
      for (let due = next(); due !== undefined && due[1].at <= end; due = next()) {
        const [handle, timer] = due
        now = timer.at
        if (timer.everyMs === undefined) timers.delete(handle)
        else timer.at += timer.everyMs
        timer.fire()
        // oxlint-disable-next-line no-await-in-loop -- one timer after the other
        await settled()
      }
      now = end
    },
    restore() {
      Object.assign(globalThis, real)
      Reflect.deleteProperty(performance, 'now')
    },
  }
}
