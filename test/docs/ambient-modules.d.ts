// The file beside which a reader puts their test.
declare module '*/storage.ts' {
  import type { AdminStorage } from 'utility-api/storage'
  export function makeEmptyStore(): Promise<AdminStorage>
}
