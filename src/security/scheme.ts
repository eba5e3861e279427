import type { z } from 'zod'
import type { Refusal, UtilityApiError } from '../domain/errors.ts'
import type { Parameter } from '../operations/operation.ts'

/** How callers of an operation prove who they are, and what this protocol makes of answers. */
export interface Scheme<Caller> {
  /** Its name in the OpenAPI document, and what rate limits count its callers under. */
  readonly name: string
  /** The members of a body that it reads. */
  readonly parameters: readonly SchemeParameter[]
  /** What it refuses of callers who need a permission, or none. */
  refusals(permission: string | undefined): readonly Refusal[]
  /** The caller, if the credential is live and permits what is asked. Throws `UtilityApiError` if not. */
  authenticate(presented: Presented, permission: string | undefined): Promise<Caller>
  /** Who the caller is, for limits and metrics. */
  callerId(caller: Caller): string
  /** The `WWW-Authenticate` header of a 401 or 403 that carries none; null for none. */
  readonly challenge: string | null
  /** The error body that clients of this protocol know, instead of our own or the owner's. */
  errorBody?(error: UtilityApiError): object
  readonly openapi: SchemeDocument
}

/** What a scheme sees of a request. */
export interface Presented {
  /** The value of a header, null when it was not sent; repeated ones joined with `, `. */
  header(name: string): string | null
  /** The members of the body, none where the operation has no body. */
  readonly body: ReadonlyMap<string, unknown>
  /** Milliseconds until the caller is told that storage failed. */
  timeLeftMs(): number
}

/** A member of a body that a scheme reads. */
export interface SchemeParameter extends Parameter {
  readonly in: 'body'
  readonly schema: z.ZodType
}

/** What the OpenAPI document says of a scheme. */
export interface SchemeDocument {
  /** The security scheme object. */
  readonly scheme: object
  /** Whether the credential may stand in the body instead. */
  readonly optional: boolean
  /** What the codes of its error bodies are. */
  readonly codes: string
}

export const realm = 'utility-api'
