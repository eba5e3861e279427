import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import {
  createAdmin,
  createUtilityApi,
  randomKeys,
  bearerToken,
  coversHost,
  licenseIsGood,
  recordText,
  summarizeDnsCheck,
} from 'utility-api'
import { createDnsClient } from 'utility-api/dns'
import { memoryStorage } from 'utility-api/storage/memory'
import { mysqlStorage } from 'utility-api/storage/mysql'
import { postgresStorage } from 'utility-api/storage/postgres'
import { called, newPostgres, newSqlite, type Mistakes } from './mistake.ts'
import { admin, api, callbackPool, database, dnsClient, mysqlPool, pool, storage } from './values.ts'

class OwnStorage {
  readonly findClient = null
}

const create = (options: object): (() => unknown) => called(createUtilityApi, options)

export const ofTheLibrary: Mistakes = {
  createUtilityApi: [
    [
      'nothing',
      called(createUtilityApi),
      'options: must be an object. Write createUtilityApi({ storage: memoryStorage() }).',
    ],
    ['no storage', create({}), 'storage: is missing; to try everything, write { storage: memoryStorage() }.'],
    [
      'the storage alone',
      called(createUtilityApi, storage, { basePath: '/api' }),
      'options: must be an object, not the storage itself. Write createUtilityApi({ storage }).',
    ],
    [
      'a file alone',
      called(createUtilityApi, 'utility.sqlite'),
      `options: must be an object. Write createUtilityApi({ storage: ${newSqlite} }).`,
    ],
    [
      'a pool alone',
      called(createUtilityApi, pool),
      'options: must be an object. Write createUtilityApi({ storage: postgresStorage(pool) }).',
    ],
    [
      'a function alone',
      called(createUtilityApi, memoryStorage),
      'options: must be an object. Write createUtilityApi({ storage: memoryStorage() }).',
    ],
    [
      'a file',
      create({ storage: 'utility.sqlite' }),
      `storage: is a string: write { storage: ${newSqlite} }.`,
    ],
    ['memory', create({ storage: ':memory:' }), 'storage: is a string: write { storage: memoryStorage() }.'],
    [
      'a URL',
      create({ storage: 'postgres://me:secret@localhost/db' }),
      `storage: is a string: write { storage: ${newPostgres} }.`,
    ],
    [
      'another URL',
      create({ storage: 'mysql://me:secret@localhost/db' }),
      'storage: is a string: write { storage: mysqlStorage(createPool(url)) }.',
    ],
    ['a number', create({ storage: 7 }), 'storage: is a number: write { storage: memoryStorage() }.'],
    [
      'a function that is not called',
      create({ storage: memoryStorage }),
      'storage: is a function: write { storage: memoryStorage() }.',
    ],
    [
      'a factory that is not called',
      create({ storage: postgresStorage }),
      `storage: is a function: write { storage: ${newPostgres} }.`,
    ],
    [
      'another factory',
      create({ storage: mysqlStorage }),
      'storage: is a function: write { storage: mysqlStorage(createPool(url)) }.',
    ],
    [
      'a class',
      create({ storage: DatabaseSync }),
      `storage: is a function: write { storage: ${newSqlite} }.`,
    ],
    [
      'a class of their own',
      create({ storage: OwnStorage }),
      'storage: is a function: write { storage: new OwnStorage() }.',
    ],
    [
      'a promise',
      create({ storage: Promise.resolve(storage) }),
      'storage: is a promise: if it is that of migrate(), pass the storage itself, or else write { storage: await … }.',
    ],
    [
      'what migrate() returns',
      create({ storage: { changed: true, warnings: [] } }),
      'storage: is what migrate() resolves to: keep the storage in a variable of its own, then write { storage }.',
    ],
    [
      'a database',
      create({ storage: database }),
      'storage: is a database: write { storage: sqliteStorage(database) }.',
    ],
    [
      'a pool of pg',
      create({ storage: pool }),
      'storage: is a pool: write { storage: postgresStorage(pool) }.',
    ],
    [
      'a client of pg',
      create({ storage: new Client() }),
      `storage: is a single connection: write { storage: ${newPostgres} }.`,
    ],
    [
      'options of a pool',
      create({ storage: { connectionString: 'postgres://me:secret@localhost/db' } }),
      `storage: is what a pool is made of: write { storage: ${newPostgres} }.`,
    ],
    [
      'a pool of mysql2',
      create({ storage: mysqlPool }),
      'storage: is a pool: write { storage: mysqlStorage(pool) }.',
    ],
    [
      'a pool with callbacks',
      create({ storage: callbackPool }),
      'storage: is a pool: write { storage: mysqlStorage(pool.promise()) }.',
    ],
    ['the admin', create({ storage: admin }), 'storage: is what createAdmin returns: write { storage }.'],
    [
      'an object',
      create({ storage: {} }),
      'storage: lacks findClient, findAuthorizationCode, redeemAuthorizationCode and 5 more methods.',
    ],
    ['a misspelled storage', create({ Storage: storage }), 'Storage: is not an option; storage is.'],
    [
      'a misspelled option',
      create({ storage, basepath: '/api' }),
      'basepath: is not an option; basePath is.',
    ],
    [
      'half of a name',
      create({ storage, dns: { timeout: 5 } }),
      'dns.timeout: is not an option; timeoutMs is.',
    ],
    [
      'addresses for locations',
      create({ storage, dns: { locations: ['192.0.2.1'] } }),
      'dns.locations.0: must be an object: a location is { location, ip, provider }.',
    ],
    [
      'addresses for resolvers',
      create({ storage, blockgame: { resolvers: ['192.0.2.1'] } }),
      'blockgame.resolvers.0: must be an object: a resolver is { ip }.',
    ],
    [
      'a client for its options',
      create({ storage, dns: dnsClient }),
      'dns.query: is not an option: write { client }.',
    ],
    [
      'a client that is not created',
      create({ storage, dns: { client: createDnsClient } }),
      'dns.client: is a function: write createDnsClient() to call it, or an object with the method query.',
    ],
    [
      'an address for a client',
      create({ storage, dns: { client: '192.0.2.1' } }),
      'dns.client: must be an object with the method query.',
    ],
    ['an option that nothing has', create({ storage, dns: { colors: 1 } }), 'dns.colors: is not an option.'],
    ['no clock', create({ storage, clock: null }), 'clock: must be an object with the method now.'],
    [
      'a clock that is a function',
      create({ storage, clock: Date.now }),
      'clock: is a function: write { now }.',
    ],
    [
      'a prefix alone',
      create({ storage, licenses: 'LIC-' }),
      "licenses: must be an object, as in { keyPrefix: 'LIC-' }.",
    ],
    [
      'a map',
      create({ storage, oauth: new Map() }),
      'oauth: must be an object, as in { accessTokenLifetimeSeconds: 3600 }.',
    ],
    [
      'a switch',
      create({ storage, blockgame: true }),
      'blockgame: must be an object, or false to remove the operation.',
    ],
  ],
  createAdmin: [
    [
      'nothing',
      called(createAdmin),
      'options: must be an object. Write createAdmin({ storage: memoryStorage() }).',
    ],
    [
      'the storage alone',
      called(createAdmin, storage),
      'options: must be an object, not the storage itself. Write createAdmin({ storage }).',
    ],
    ['the api', called(createAdmin, api), 'options: must be an object. Write createAdmin({ storage }).'],
    [
      'the api as storage',
      called(createAdmin, { storage: api }),
      'storage: is what createUtilityApi returns: write { storage }.',
    ],
  ],
  randomKeys: [['a switch', called(randomKeys, true), 'options: must be an object, as in { timeOrdered }.']],
  bearerToken: [
    [
      'the headers',
      called(bearerToken, new Headers()),
      "authorization must be the value of a header: write request.headers.authorization, or request.headers.get('authorization').",
    ],
  ],
  coversHost: [
    [
      'a license',
      called(coversHost, { domainOrIp: 'a.example' }, 'a.example'),
      'domainOrIp must be a string.',
    ],
    ['one name', called(coversHost, 'a.example'), 'host must be a string.'],
  ],
  licenseIsGood: [
    [
      'a promise',
      called(licenseIsGood, api.findLicense('LIC-1'), 'a.example'),
      'license must be what findLicense returned: null, or an object with domainOrIp, status and expiresAt.',
    ],
    [
      'a time',
      called(licenseIsGood, null, 'a.example', new Date()),
      'options must be an object, as in { at, statuses }.',
    ],
  ],
  recordText: [
    ['nothing', called(recordText), 'record must be a record of an answer: one element of dns_results.'],
    [
      'all records',
      called(recordText, []),
      'record must be a record of an answer: one element of dns_results.',
    ],
    [
      'an element of a check',
      called(recordText, { location: 'Here', dns_results: [] }),
      'record must be a record of an answer: one element of dns_results.',
    ],
  ],
  summarizeDnsCheck: [
    [
      'a promise',
      called(summarizeDnsCheck, Promise.resolve([])),
      'results is a promise: write await before it.',
    ],
    [
      'an error',
      called(summarizeDnsCheck, { error: 'invalid_token' }),
      'results must be what the DNS check answers with 200.',
    ],
    [
      'a type alone',
      called(summarizeDnsCheck, [], 'A'),
      'expectation must be an object: write { recordType, expected }.',
    ],
  ],
}
