import type { z } from 'zod'
import type { Credential, CredentialKind } from '../domain/access.ts'

/**
 * The identifier of an operation: its handler's name and its OpenAPI `operationId`.
 *
 * @group Operation
 */
export type OperationId =
  'exchangeToken' | 'updateLicense' | 'generateLicense' | 'checkDns' | 'lookUpGameServer'

/** One operation of the service: everything the HTTP layer needs to serve and to document it. */
export interface Operation<Input, Output> {
  readonly id: OperationId
  readonly method: 'GET' | 'POST' | 'PUT'
  /** As in the contract, parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly security: Security
  /** What its running time depends on: requests that wait for networks must not crowd out those that do not. */
  readonly waitsFor: 'storage' | 'network'
  /** Where each field of the input stands in a request, by its wire name. */
  readonly parameters: { readonly [Field in keyof Input]-?: Parameter }
  readonly input: z.ZodType<Input>
  readonly output: z.ZodType<Output>
  /** Does the work. Refusals are thrown as `UtilityApiError`. */
  run(input: Input, context: OperationContext): Promise<Output>
}

/** An operation whose types no longer matter: what tables of operations hold. */
export interface AnyOperation extends Omit<Operation<never, unknown>, 'parameters' | 'input'> {
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly input: z.ZodType
}

/** Where one input field stands in a request. */
export interface Parameter {
  readonly in: 'path' | 'header' | 'body'
  readonly name: string
  readonly description: string
}

/** How a caller proves who they are. A `client` sends its credentials with the input (RFC 6749 section 2.3.1). */
export type Security = CredentialSecurity | { readonly kind: 'client' }

/** A credential in a header, and the permission it must carry. */
export interface CredentialSecurity {
  readonly kind: CredentialKind
  readonly permission?: string | undefined
}

/** What an operation knows of the request beside its input. */
export interface OperationContext {
  /** The credential presented; null where the operation authenticates its client itself. */
  readonly caller: Credential | null
  /** Aborts when the client has gone or the service closes. Only waits for networks listen to it. */
  readonly signal: AbortSignal
  /** To be called once, as soon as it is known who asks: counts the request against their rate limit, which may refuse it. */
  identified(callerId: string): Promise<void>
}

/** The reseller, client or key holder an operation acts for, where its security demands a credential. */
export function callerOf(context: OperationContext): Credential {
  if (context.caller === null)
    throw new TypeError('The operation demands no credential, so it has no caller.')
  return context.caller
}
