import type { AdminStorage, MaybePromise, UtilityStorage } from '../../ports/storage.ts'
import {
  hashOf,
  inTurn,
  makeClient,
  makeCode,
  makeCredential,
  makeLicense,
  makeToken,
  rejectsAs,
  type ContractCase,
} from './context.ts'

type Calls<Storage> = Readonly<Record<string, (storage: Storage) => MaybePromise<unknown>>>

const calls: Calls<UtilityStorage> = {
  findClient: (storage) => storage.findClient('client'),
  findAuthorizationCode: (storage) => storage.findAuthorizationCode(hashOf(1)),
  redeemAuthorizationCode: (storage) => storage.redeemAuthorizationCode(hashOf(1), 5, makeToken(1)),
  revokeAccessTokensOfCode: (storage) => storage.revokeAccessTokensOfCode(hashOf(1), 5),
  findCredential: (storage) => storage.findCredential('api_key', hashOf(1)),
  insertLicense: (storage) => storage.insertLicense(makeLicense('key')),
  updateLicense: (storage) =>
    storage.updateLicense({ licenseKey: 'key', resellerId: 'reseller', patch: { status: 'new' }, at: 5 }),
}

const adminCalls: Calls<AdminStorage> = {
  insertClient: (storage) => storage.insertClient(makeClient()),
  setClientSecrets: (storage) => storage.setClientSecrets('client', []),
  revokeClient: (storage) => storage.revokeClient('client', 5),
  insertAuthorizationCode: (storage) => storage.insertAuthorizationCode(hashOf(1), makeCode()),
  insertCredential: (storage) => storage.insertCredential('api_key', hashOf(1), makeCredential('key')),
  revokeCredential: (storage) => storage.revokeCredential({ id: 'key' }, 5),
  getLicense: (storage) => storage.getLicense('key'),
  listLicenses: (storage) => storage.listLicenses({ limit: 5 }),
  purgeExpired: (storage) => storage.purgeExpired(5),
}

async function allUnavailable<Storage>(storage: Storage, all: Calls<Storage>): Promise<void> {
  await inTurn(Object.entries(all), ([name, call]) => rejectsAs('unavailable', () => call(storage), name))
}

export const failureCases: readonly ContractCase[] = [
  {
    name: 'a closed store says unavailable, or a shutdown tells customers that their keys do not exist',
    needs: ['admin', 'close'],
    async run({ admin, close }) {
      await close()
      await allUnavailable(admin, { ...calls, ...adminCalls })
      await close()
    },
  },
  {
    name: 'a store without its database says unavailable, or an outage looks like a wrong password',
    needs: ['disconnect'],
    async run({ storage, disconnect }) {
      await storage.findClient('client')
      await disconnect()
      await allUnavailable(storage, calls)
    },
  },
  {
    name: 'a healthy store answers its ping, or a working server is taken out of service',
    needs: ['ping'],
    run: async ({ ping }) => ping(),
  },
  {
    name: 'the ping of a store without its database fails, or a dead server goes on getting requests',
    needs: ['ping', 'disconnect'],
    async run({ ping, disconnect }) {
      await disconnect()
      await rejectsAs('unavailable', ping, 'ping')
    },
  },
]
