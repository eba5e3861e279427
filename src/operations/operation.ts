import type * as z from 'zod'
import type { Refusal } from '../domain/errors.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { JsonBody, SharedAnswer } from '../bounds/shared-answer.ts'

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

/** One operation of the service: everything needed to serve and document it. */
export interface Operation<Input, Output, Caller> {
  readonly id: OperationId
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The path as in the contract, with parameters in braces. */
  readonly path: string
  readonly summary: string
  /** What it does, in sentences of Markdown without links. */
  readonly description: string
  /** The group of the operation in the OpenAPI document. */
  readonly tag: { readonly name: string; readonly description: string }
  /** The permission a caller must have, if being known is not enough. */
  readonly permission?: string | undefined
  /** What its running time depends on: requests that wait for networks must not crowd out those that do not. */
  readonly waitsFor: 'storage' | 'network'
  /** Where each field of the input is in a request, with its name there. */
  readonly parameters: { readonly [Field in keyof Input]-?: Parameter }
  readonly input: z.ZodType<Input>
  /** Makes the schema of what it answers. Only the OpenAPI document needs it. */
  output(): z.ZodType<Output>
  /** A successful answer. */
  readonly example: Output
  /** What `run` refuses in addition to what `input` refuses. */
  readonly refusals: readonly Refusal[]
  /** Does the work. Refusals are thrown as `UtilityApiError`. */
  run(input: Input, caller: Caller, call: OperationCall): MaybePromise<Output | SharedAnswer<Output>>
}

/** Where one field is in a request. */
export interface Parameter {
  readonly in: 'path' | 'header' | 'body'
  readonly name: string
  readonly description: string
  /** An example value, which pages fill in for readers who try the operation. */
  readonly example?: string
}

/** What an operation knows about the request in addition to its input and its caller. */
export interface OperationCall extends StorageCall {
  /** The id of the request, for the log. */
  readonly requestId: string
  /** Whose share of the bounds the work takes. */
  readonly callerKey: string
  /** Aborts when the client is gone or the service closes. Only work that waits for networks listens to it. */
  readonly signal: AbortSignal
  /** Set by the operations on licenses: which license it is, for the owner's own report. */
  licenseKey?: string | undefined
  /** Is told of each element of an answer as it comes, with its position. */
  readonly onPart?: ((part: JsonBody, index: number) => void) | undefined
}
