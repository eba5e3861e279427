import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { Callers } from '../../src/bounds/callers.ts'
import { createSemaphore, NoTurnError, type SemaphoreTerms } from '../../src/bounds/semaphore.ts'
import { gatedTask, turn } from './support/gated-task.ts'

const forever = new AbortController().signal
const by = (caller: string, terms: Partial<SemaphoreTerms> = {}): SemaphoreTerms => ({
  callers: new Callers(caller),
  signal: forever,
  // A task that a test leaves waiting is given up by nobody, since other tests run in this process.
  maxWaitMs: 1e9,
  ...terms,
})

/** One task for each of these callers, in this order; all are asked for at once. */
function taskFor(semaphore: ReturnType<typeof createSemaphore>, callers: string) {
  const tasks = Array.from(callers, (caller) => ({ caller, ...gatedTask() }))
  const results = tasks.map(({ task, caller }) => semaphore.run(task, by(caller)))
  return {
    tasks,
    results,
    /** Who runs or has run. */
    started: async () => {
      await turn()
      return tasks.map(({ caller, started }) => (started() ? caller : '.')).join('')
    },
  }
}

test('no more than the bound run at once, and the others follow in order', async () => {
  const semaphore = createSemaphore(2)
  const { tasks, results, started } = taskFor(semaphore, 'abcd')
  expect(await started()).toBe('ab..')
  tasks[1]?.open()
  expect(await started()).toBe('abc.')
  for (const { open } of tasks) open()
  expect(await Promise.all(results)).toStrictEqual(['done', 'done', 'done', 'done'])
  expect(semaphore.callers).toBe(0)
})

test.each([
  [1, 'aaa', 'a..'],
  [2, 'aaa', 'a..'],
  [3, 'aaa', 'a..'],
  [4, 'aaaabb', 'aa..bb'],
  [5, 'aaaabbbc', 'aa..bb.c'],
])('of %d places one caller has half at most: %s runs as %s', async (places, callers, running) => {
  const { started } = taskFor(createSemaphore(places), callers)
  expect(await started()).toBe(running)
})

test('a free place goes to the callers in turn, however many tasks each has waiting', async () => {
  const semaphore = createSemaphore(4)
  const { tasks, started } = taskFor(semaphore, 'xxyyaaaabbc')
  const order: string[] = []
  let before = await started()
  for (const { open } of tasks.slice(0, 10)) {
    open()
    const after = await started()
    order.push(...Array.from(after).filter((_, index) => before[index] !== after[index]))
    before = after
  }
  expect(order.join('')).toBe('abcabaa')
})

test('a caller at the bound continues as soon as one of their tasks has ended', async () => {
  const { tasks, started } = taskFor(createSemaphore(4), 'aaa')
  expect(await started()).toBe('aa.')
  tasks[0]?.open()
  expect(await started()).toBe('aaa')
})

test('a task that fails gives its place back', async () => {
  const semaphore = createSemaphore(1)
  const failing = gatedTask()
  const result = semaphore.run(failing.task, by('a'))
  failing.fail()
  await expect(result).rejects.toThrow('failed')
  expect(await semaphore.run(async () => 'next', by('a'))).toBe('next')
})

test('a task that throws at once gives its place back', async () => {
  const semaphore = createSemaphore(1)
  const result = semaphore.run(() => {
    throw new Error('thrown')
  }, by('a'))
  await expect(result).rejects.toThrow('thrown')
  expect(await semaphore.run(async () => 'next', by('a'))).toBe('next')
})

test('a task given up while waiting never starts and takes no place', async () => {
  const semaphore = createSemaphore(1)
  const running = gatedTask()
  const given = gatedTask()
  const controller = new AbortController()
  const first = semaphore.run(running.task, by('a'))
  const second = semaphore.run(given.task, by('b', { signal: controller.signal }))
  await turn()
  controller.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  running.open()
  expect(await first).toBe('done')
  expect(given.started()).toBe(false)
  expect(semaphore.callers).toBe(0)
})

test('a task that has waited too long is given up and takes no place', async () => {
  const semaphore = createSemaphore(1)
  const running = gatedTask()
  const late = gatedTask()
  const first = semaphore.run(running.task, by('a'))
  await expect(semaphore.run(late.task, by('b', { maxWaitMs: 5 }))).rejects.toThrow(NoTurnError)
  running.open()
  expect(await first).toBe('done')
  expect(late.started()).toBe(false)
  expect(semaphore.callers).toBe(0)
})

test('a caller who joins a waiting task lends it their turn, and the first caller keeps theirs for other tasks', async () => {
  const semaphore = createSemaphore(4)
  const { tasks, started } = taskFor(semaphore, 'aa')
  const shared = gatedTask()
  const callers = new Callers('a')
  const result = semaphore.run(shared.task, by('a', { callers }))
  await turn()
  expect(shared.started()).toBe(false)
  callers.join('b')
  await turn()
  expect(shared.started()).toBe(true)
  const own = taskFor(semaphore, 'bb')
  expect(await own.started()).toBe('b.')
  for (const { open } of [...tasks, shared, ...own.tasks]) open()
  expect(await started()).toBe('aa')
  expect(await result).toBe('done')
})

test('a caller who leaves a running task passes its place to one who stays', async () => {
  const semaphore = createSemaphore(4)
  const shared = gatedTask()
  const callers = new Callers('a')
  const result = semaphore.run(shared.task, by('a', { callers }))
  callers.join('b')
  callers.leave('a')
  expect(await taskFor(semaphore, 'aaa').started()).toBe('aa.')
  expect(await taskFor(semaphore, 'bb').started()).toBe('b.')
  shared.open()
  expect(await result).toBe('done')
})

test('a place that was passed on counts against the caller who stays', async () => {
  const semaphore = createSemaphore(6)
  const callers = new Callers('a')
  void semaphore.run(gatedTask().task, by('a', { callers }))
  callers.join('b')
  callers.leave('a')
  // Half of six is three, one of which is the place that was passed on.
  expect(await taskFor(semaphore, 'bbb').started()).toBe('bb.')
})

test('of those who stay, one who may have another place gets it', async () => {
  const semaphore = createSemaphore(4)
  const { tasks, started } = taskFor(semaphore, 'bbb')
  const callers = new Callers('a')
  void semaphore.run(gatedTask().task, by('a', { callers }))
  callers.join('b')
  callers.join('c')
  callers.leave('a')
  expect(await started()).toBe('bb.')
  tasks[0]?.open()
  expect(await started()).toBe('bbb')
})

test('a caller who leaves a task whose place another caller has changes nothing', async () => {
  const semaphore = createSemaphore(4)
  const callers = new Callers('a')
  void semaphore.run(gatedTask().task, by('a', { callers }))
  const { started } = taskFor(semaphore, 'aa')
  callers.join('b')
  callers.join('c')
  callers.leave('c')
  expect(await started()).toBe('a.')
})

test('passing on a place starts a waiting task of the caller who left', async () => {
  const semaphore = createSemaphore(4)
  const { started } = taskFor(semaphore, 'a')
  const callers = new Callers('a')
  void semaphore.run(gatedTask().task, by('a', { callers }))
  const waiting = taskFor(semaphore, 'a')
  expect((await started()) + (await waiting.started())).toBe('a.')
  callers.join('b')
  expect(await waiting.started()).toBe('.')
  callers.leave('a')
  expect(await waiting.started()).toBe('a')
})

test('a place is kept until the task has ended, although no caller is left', async () => {
  const semaphore = createSemaphore(2)
  const ending = gatedTask()
  const callers = new Callers('a')
  const result = semaphore.run(ending.task, by('a', { callers }))
  callers.leave('a')
  const { started } = taskFor(semaphore, 'a')
  expect(await started()).toBe('.')
  ending.open()
  expect(await result).toBe('done')
  expect(await started()).toBe('a')
})

test('a task that has waited leaves no timer and no listener behind', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
  const semaphore = createSemaphore(1)
  const { signal } = new AbortController()
  const before = timers()
  const running = gatedTask()
  const first = semaphore.run(running.task, by('a'))
  const second = semaphore.run(async () => 'next', by('b', { signal }))
  expect(timers()).toBe(before + 1)
  running.open()
  expect(await Promise.all([first, second])).toStrictEqual(['done', 'next'])
  expect(timers()).toBe(before)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
