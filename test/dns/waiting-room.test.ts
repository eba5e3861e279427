import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WaitingRoom, type Waiter } from '../../src/dns/waiting-room.ts'

/** Comes in, and leaves when it is called, unless there is something else to do then. */
function waiterIn(room: WaitingRoom<Waiter>, dueInMs: number, onDue?: (waiter: Waiter) => void) {
  const dueAt = performance.now() + dueInMs
  let called: (lateMs: number) => void
  const late = new Promise<number>((resolve) => (called = resolve))
  const waiter: Waiter = {
    slot: 0,
    dueAt,
    onDue() {
      called(performance.now() - dueAt)
      if (onDue === undefined) room.remove(waiter)
      else onDue(waiter)
    },
  }
  room.add(waiter)
  return { waiter, late }
}

/** Lets time pass only when it is told to, so that no timer is late on a busy machine. */
function standStill(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
}

describe('a waiting room', () => {
  test('calls every member in time, whatever their order', async () => {
    standStill()
    const room = new WaitingRoom<Waiter>()
    const dueIn = Array.from({ length: 200 }, (_, index) => (199 + index * 73) % 200)
    const waiters = dueIn.map((ms) => waiterIn(room, ms).late)
    vi.advanceTimersByTime(200)
    expect(room.everyone()).toEqual([])
    expect(await Promise.all(waiters)).toEqual(dueIn.map(() => 0))
  })

  test('calls members again that postponed themselves', () => {
    standStill()
    const room = new WaitingRoom<Waiter>()
    const begun = performance.now()
    const calls: number[] = []
    waiterIn(room, 5, (waiter) => {
      calls.push(performance.now() - begun)
      waiter.dueAt += 20
      if (calls.length === 3) room.remove(waiter)
    })
    vi.advanceTimersByTime(100)
    expect(calls).toEqual([5, 25, 45])
  })

  test('calls members that are late already, without a warning', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    await waiterIn(new WaitingRoom<Waiter>(), -50).late
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  test('keeps members that stay when others leave', () => {
    const room = new WaitingRoom<Waiter>()
    const [a, b, c, d] = [1, 2, 3, 4].map(() => waiterIn(room, 60_000).waiter) as [
      Waiter,
      Waiter,
      Waiter,
      Waiter,
    ]
    room.remove(b)
    room.remove(d)
    expect(new Set(room.everyone())).toEqual(new Set([a, c]))
    room.remove(a)
    expect(room.everyone()).toEqual([c])
    room.remove(c)
    expect(room.everyone()).toEqual([])
  })

  test('keeps the process alive by one timer while there are members, and by none otherwise', () => {
    const before = timers()
    const room = new WaitingRoom<Waiter>()
    for (let time = 0; time < 3; time += 1) {
      const waiters = [300, 100, 200, 50, 400].map((ms) => waiterIn(room, ms * 1000).waiter)
      expect(timers()).toBe(before + 1)
      for (const waiter of waiters) room.remove(waiter)
      expect(timers()).toBe(before)
    }
  })

  test('sets one timer for members that come and leave one after the other', async () => {
    standStill()
    const set = vi.spyOn(globalThis, 'setTimeout')
    const room = new WaitingRoom<Waiter>()
    for (let time = 0; time < 100; time += 1) room.remove(waiterIn(room, 30 + time).waiter)
    expect(set).toHaveBeenCalledTimes(1)
    set.mockRestore()
    // It fires for nobody in particular, and is set again for those who are there.
    const { late } = waiterIn(room, 60)
    vi.advanceTimersByTime(60)
    expect(room.everyone()).toEqual([])
    expect(await late).toBe(0)
  })
})
