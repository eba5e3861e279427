// What a reader has from the blocks before: names that examples use without making them.
import type { Socket } from 'node:net'
import type expressModule from 'express'
import type { Express } from 'express'
import type {
  Admin,
  AdminLicenseChange,
  AdminStorage,
  License,
  UtilityApi,
  UtilityApiError,
} from 'utility-api'

declare global {
  const api: UtilityApi
  const storage: AdminStorage
  const admin: Admin
  const app: Express
  const express: typeof expressModule
  const secrets: Readonly<Record<'stripe' | 'paddle', string>>
  const sendMail: (mail: { to: string; text: string; idempotencyKey: string }) => Promise<void>
  const addressOf: (reference: string | null) => Promise<string>
  const forPerson: (error: UtilityApiError, reference: string) => void
  const sell: (reference: string, registeredTo: string, domainOrIp: string, email: string) => Promise<void>
  const change: (reference: string, changes: AdminLicenseChange) => Promise<void>
  // What JSON.parse returns.
  // oxlint-disable-next-line typescript/no-explicit-any
  const reported: (body: Buffer, signature: string | undefined, joint: '.' | ':', secret: string) => any
  const eachLicense: (filter?: Parameters<Admin['listLicenses']>[0]) => AsyncIterable<License>
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
