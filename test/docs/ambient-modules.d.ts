// The file beside which a reader puts their test, and the one that a page shows below the program which uses it.
declare module '*/storage.ts' {
  import type { AdminStorage } from 'utility-api/storage'
  export function makeEmptyStore(): Promise<AdminStorage>
  export const storage: AdminStorage
}
// The file that a page shows above the route which uses it.
declare module '@/lib/api' {
  import type { UtilityApi } from 'utility-api'
  export function utilityApi(): Promise<UtilityApi>
}
// What test/clients has, where the program that uses it is run.
declare module '@modelcontextprotocol/sdk/*'
// The file of an example that a page names.
declare module '*/authorization-page.ts' {
  import type { RequestListener } from 'node:http'
  import type { Admin } from 'utility-api'
  export function createAuthorizationPage(admin: Admin, userOf: () => string | null): RequestListener
}
