import type { z } from 'zod'
import type { Refusal } from '../domain/errors.ts'

/** The identifiers of all operations. */
export const operationIds = [
  'exchangeToken',
  'updateLicense',
  'generateLicense',
  'checkDns',
  'lookUpGameServer',
] as const

/**
 * The identifier of an operation: its handler's name and its OpenAPI `operationId`.
 *
 * @group Operation
 */
export type OperationId = (typeof operationIds)[number]

/** One operation of the service: all there is to know about it, to serve it and to document it. */
export interface Operation<Input, Output, Caller> {
  readonly id: OperationId
  readonly method: 'GET' | 'POST' | 'PUT'
  /** As in the contract, parameters in braces. */
  readonly path: string
  readonly summary: string
  /** What it is grouped by in the OpenAPI document. */
  readonly tag: { readonly name: string; readonly description: string }
  /** What a caller must be permitted, where being known is not enough. */
  readonly permission?: string | undefined
  /** What its running time depends on: requests that wait for networks must not crowd out those that do not. */
  readonly waitsFor: 'storage' | 'network'
  /** Where each field of the input stands in a request, by its wire name. */
  readonly parameters: { readonly [Field in keyof Input]-?: Parameter }
  readonly input: z.ZodType<Input>
  readonly output: z.ZodType<Output>
  /** A successful answer. */
  readonly example: Output
  /** What `run` refuses, beyond what `input` does. */
  readonly refusals: readonly Refusal[]
  /** Does the work. Refusals are thrown as `UtilityApiError`. */
  run(input: Input, caller: Caller, call: OperationCall): Promise<Output>
}

/** Where one field stands in a request. */
export interface Parameter {
  readonly in: 'path' | 'header' | 'body'
  readonly name: string
  readonly description: string
  /** A value that pages fill in for a reader who tries the operation. */
  readonly example?: string
}

/** What an operation knows of the request beside its input and its caller. */
export interface OperationCall {
  /** Milliseconds until the caller is told that storage failed; what storage has not begun by then must not begin. */
  timeLeftMs(): number
  /** Aborts when the client has gone or the service closes. Only waits for networks listen to it. */
  readonly signal: AbortSignal
}
