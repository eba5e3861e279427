// The file beside which a reader puts their test.
declare module '*/storage.ts' {
  import type { AdminStorage } from 'utility-api/storage'
  export function makeEmptyStore(): Promise<AdminStorage>
}
// The file that a page shows above the route which uses it.
declare module '@/lib/api' {
  import type { UtilityApi } from 'utility-api'
  export function utilityApi(): Promise<UtilityApi>
}
// The file that a page shows below the program which uses it.
declare module '*/storage.js' {
  import type { AdminStorage } from 'utility-api/storage'
  export const storage: AdminStorage
}
