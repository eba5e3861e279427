import { memoryStorage } from 'utility-api/storage/memory'
import {
  fakeBlockgameServer,
  fakeDnsServer,
  faultyStorage,
  fixedClock,
  storageContract,
} from 'utility-api/testing'
import { called, type Mistakes } from './mistake.ts'
import { anyFunction, storage } from './values.ts'

const fixture = '() => ({ storage, close() {} })'

export const ofTesting: Mistakes = {
  fakeDnsServer: [
    ['a function', called(fakeDnsServer, anyFunction), 'options: must be an object, as in { records }.'],
    ['half of a name', called(fakeDnsServer, { delay: 5 }), 'delay: is not an option; delayMs is.'],
  ],
  fakeBlockgameServer: [
    ['a port', called(fakeBlockgameServer, 25565), 'options: must be an object, as in { status }.'],
  ],
  faultyStorage: [
    ['no seed', called(faultyStorage, storage), 'options: must be an object, as in { seed }.'],
    [
      'a function that is not called',
      called(faultyStorage, memoryStorage, { seed: 1 }),
      'storage must be a storage: write faultyStorage(memoryStorage(), { seed }).',
    ],
  ],
  fixedClock: [
    [
      'a date',
      called(fixedClock, new Date()),
      'start must be a number of milliseconds: write fixedClock(date.getTime()).',
    ],
    ['a text to advance by', called(fixedClock().advance, '5s'), 'milliseconds must be a number.'],
  ],
  sequentialKeys: [],
  storageContract: [
    ['nothing', called(storageContract), `make must be a function: write storageContract(${fixture}).`],
    [
      'the storage',
      called(storageContract, storage),
      `make must be a function: write storageContract(${fixture}).`,
    ],
    [
      'a function that returns the storage',
      () => storageContract(() => storage as never)[0]?.run(),
      `make must return a storage and close(): write storageContract(${fixture}).`,
    ],
    [
      'no close()',
      () => storageContract(() => ({ storage }) as never)[0]?.run(),
      `make must return a storage and close(): write storageContract(${fixture}).`,
    ],
  ],
}
