import { memoryStorage } from 'utility-api/storage/memory'
import { testContract } from './support/register.ts'

testContract('memory', () => ({ storage: memoryStorage(), close() {} }))

// A store that does not record uses is complete.
testContract('memory, without recordUse', () => {
  const { recordUse: _, ...storage } = memoryStorage()
  return { storage, close() {} }
})
