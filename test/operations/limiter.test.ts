import { expect, test } from 'vitest'
import { createLimiter } from '../../src/operations/limiter.ts'

const forever = new AbortController().signal

function gatedTask() {
  const gate = Promise.withResolvers<string>()
  let started = false
  return {
    open: () => gate.resolve('done'),
    fail: () => gate.reject(new Error('failed')),
    started: () => started,
    task: () => {
      started = true
      return gate.promise
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('no more than the bound run at once, and the others follow in order', async () => {
  const limiter = createLimiter(2)
  const tasks = Array.from({ length: 4 }, gatedTask)
  const results = tasks.map(({ task }) => limiter.run(task, forever))
  await turn()
  expect(tasks.map(({ started }) => started())).toStrictEqual([true, true, false, false])
  tasks[1]?.open()
  await turn()
  expect(tasks.map(({ started }) => started())).toStrictEqual([true, true, true, false])
  for (const { open } of tasks) open()
  expect(await Promise.all(results)).toStrictEqual(['done', 'done', 'done', 'done'])
})

test('a task that fails gives its place back', async () => {
  const limiter = createLimiter(1)
  const failing = gatedTask()
  const result = limiter.run(failing.task, forever)
  failing.fail()
  await expect(result).rejects.toThrow('failed')
  expect(await limiter.run(async () => 'next', forever)).toBe('next')
})

test('a task that throws at once gives its place back', async () => {
  const limiter = createLimiter(1)
  const result = limiter.run(() => {
    throw new Error('thrown')
  }, forever)
  await expect(result).rejects.toThrow('thrown')
  expect(await limiter.run(async () => 'next', forever)).toBe('next')
})

test('who gives up waiting is never started and takes no place', async () => {
  const limiter = createLimiter(1)
  const running = gatedTask()
  const given = gatedTask()
  const controller = new AbortController()
  const first = limiter.run(running.task, forever)
  const second = limiter.run(given.task, controller.signal)
  await turn()
  controller.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  running.open()
  expect(await first).toBe('done')
  expect(given.started()).toBe(false)
  expect(await limiter.run(async () => 'free', forever)).toBe('free')
})

test('who has waited long enough gives up, and takes no place', async () => {
  const limiter = createLimiter(1)
  const running = gatedTask()
  const late = gatedTask()
  const first = limiter.run(running.task, forever, 1000)
  await expect(limiter.run(late.task, forever, 5)).rejects.toMatchObject({ name: 'TimeoutError' })
  running.open()
  expect(await first).toBe('done')
  expect(late.started()).toBe(false)
  expect(await limiter.run(async () => 'next', forever)).toBe('next')
})
