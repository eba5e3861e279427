import { storageContract } from 'utility-api/testing'
import { memoryStorage } from 'utility-api/storage/memory'
import type { AdminStorage } from 'utility-api/storage'
import { expect, test } from 'vitest'

// What drivers return: rows without a prototype (`node:sqlite`), and bytes in Buffers.

function asDriversDo(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (Array.isArray(value)) return value.map(asDriversDo)
  const row: unknown = Object.create(null)
  return Object.assign(
    row as object,
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asDriversDo(member)])),
  )
}

function answering<Methods extends object>(methods: Methods): Methods {
  const changed = Object.entries(methods).map(([name, method]: [string, unknown]) => [
    name,
    typeof method === 'function' ? async (...args: unknown[]) => asDriversDo(await method(...args)) : method,
  ])
  return Object.fromEntries(changed) as Methods
}

function driverStorage(): AdminStorage {
  const { listing, ...storage } = memoryStorage()
  return { ...answering(storage), ...(listing && { listing: answering(listing) }) }
}

test('rows without a prototype and bytes in Buffers pass every case', async () => {
  const cases = storageContract(() => ({ storage: driverStorage(), close() {} }))
  const outcomes = await Promise.all(cases.map(async ({ run }) => run()))
  expect(outcomes.filter((outcome) => outcome === 'passed').length).toBeGreaterThan(100)
})
