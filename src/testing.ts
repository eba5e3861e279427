/**
 * Helpers for your tests: the storage contract, storage with faults, a clock and keys that you control, and
 * DNS and game servers on loopback.
 *
 * @module utility-api/testing
 */
export * from './testing/blockgame-server.ts'
export { fixedClock, type FixedClock } from './testing/clock.ts'
export * from './testing/dns-server.ts'
export * from './testing/faulty-storage.ts'
export { sequentialKeys } from './testing/keys.ts'
export * from './testing/storage-contract.ts'
