import type * as z from 'zod'
import type { Refusal, UtilityApiError } from '../domain/errors.ts'
import type { Parameter } from '../operations/operation.ts'
import type { Clock } from '../ports/clock.ts'
import type { MaybePromise } from '../domain/maybe-promise.ts'
import type { StorageCall } from '../ports/storage-call.ts'
import type { TimedStorage } from '../storage/timed-storage.ts'
import type { UseRecorder } from './use-recorder.ts'

/** How callers of an operation prove who they are, and how this protocol shapes answers. */
export interface Scheme<Caller> {
  /** Its name in the OpenAPI document, under which rate limits also count its callers. */
  readonly name: string
  /** The members of a body that callers may send instead of the header of the security scheme. */
  readonly parameters: readonly SchemeParameter[]
  /** Returns what it refuses of callers who need a permission, or who need none. */
  refusals(permission: string | undefined): readonly Refusal[]
  /** Returns the caller if the credential is live. Throws `UtilityApiError` if not. */
  authenticate(presented: Presented): MaybePromise<Caller>
  /** Returns who the caller is, for limits and metrics. */
  callerId(caller: Caller): string
  /** Tells whether a caller has only said who it is, as anybody could. Default: each has shown a secret. */
  isUnproven?(caller: Caller): boolean
  /** Throws `UtilityApiError` if the caller lacks the permission. */
  requirePermission(caller: Caller, permission: string | undefined): void
  /** The `WWW-Authenticate` header for a 401 that has none of its own, or null to send none. */
  readonly challenge: string | null
  /** Returns the error body that clients of this protocol know, instead of our own or the owner's. */
  errorBody?(error: UtilityApiError): object
  readonly openapi: SchemeDocument
}

/** What the schemes whose callers hold a credential look it up with. */
export interface CredentialParts {
  readonly storage: Pick<TimedStorage, 'findCredential'>
  readonly clock: Clock
  /** Notes who was accepted; undefined if the store does not record it. */
  readonly uses?: UseRecorder | undefined
}

/** The parts of a request that a scheme sees. */
export interface Presented extends StorageCall {
  /** Returns the value of a header, or null if it was not sent. Repeated headers are joined with `, `. */
  header(name: string): string | null
  /** The members of the body, or none if the operation has no body. */
  readonly body: BodyMembers
}

/** The members of a body by name: only those that the client sent, so that `constructor` is not found. */
export interface BodyMembers {
  get(name: string): unknown
  /** Why members are missing, if something about the whole body explains it. */
  readonly mistake?: Refusal | undefined
}

/** A member of a body that a scheme reads. */
export interface SchemeParameter extends Parameter {
  readonly in: 'body'
  readonly schema: z.ZodType
}

/** What the OpenAPI document says about a scheme. */
export interface SchemeDocument {
  /** The ways to identify in the body, the contract's first. */
  readonly bodies?: readonly SchemeBody[]
  /** The security scheme object. */
  readonly scheme: object
  /** What the codes of its error bodies are. */
  readonly codes: string
  /** When a refused request gets a `WWW-Authenticate` header, and one as it may be. */
  readonly challenge: { readonly description: string; readonly example: string }
}

/** A way for callers to identify themselves in a body. */
export interface SchemeBody {
  readonly title: string
  /** What it requires in addition to the members that the operation requires. */
  readonly required: readonly string[]
  /** The members that it must not have. */
  readonly without?: readonly string[]
}

export const realm = 'utility-api'
