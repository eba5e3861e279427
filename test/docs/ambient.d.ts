// What a reader has from the blocks before: names that examples use without making them.
import type { Socket } from 'node:net'
import type { Express } from 'express'
import type { Admin, AdminStorage, UtilityApi } from 'utility-api'

declare global {
  const api: UtilityApi
  const storage: AdminStorage
  const admin: Admin
  const app: Express
  const error: Error
  const socket: Socket
  const myStorage: () => AdminStorage
  const request: { readonly headers: { readonly authorization?: string } }
  const url: URL
  const user: { readonly id: string }
  const redirect: (location: string) => void
  const showError: (reason: string) => void
  const showSignInPage: () => void
  const showConsentPage: (asked: object) => void
  const ordersOf: (subject: string | null) => Promise<object>
  const Bun: { serve(options: { port?: number; fetch: (...args: never[]) => Promise<Response> }): unknown }
  const Deno: { serve(options: { port?: number }, handler: (request: Request) => Promise<Response>): unknown }
}
