import { memoryStorage } from 'utility-api/storage/memory'
import { testContract } from './support/register.ts'

testContract('memory', () => ({ storage: memoryStorage(), close() {} }))
