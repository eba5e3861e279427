import * as z from 'zod'
import { recordTypes, type RecordType } from '../domain/dns-record.ts'
import type { Refusal } from '../domain/errors.ts'

/** Returns the message for a field that is missing or has the wrong type. The field's name is put before it. */
export function missingOr(otherwise: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is missing' : otherwise)
}

/** Returns the schema of a required, non-empty string. */
export function requiredText(): z.ZodString {
  return z.string({ error: missingOr('must be a string') }).min(1, 'is missing')
}

/** Visible ASCII and spaces: VSCHAR of RFC 6749, appendix A. */
const onlyVisible = /^[\x20-\x7e]+$/

export function isVisibleText(text: string): boolean {
  return onlyVisible.test(text)
}

/** Returns the schema of a required string of visible ASCII and spaces. */
export function visibleText(): z.ZodString {
  return requiredText().regex(onlyVisible, 'must consist of visible ASCII characters')
}

const notARecordType = `must be one of ${recordTypes.join(', ')}`

/** Returns the schema of a DNS record type, in upper or lower case. */
export function recordTypeText(): z.ZodType<RecordType, string> {
  return (
    requiredText()
      .trim()
      // Beyond ASCII, some letters turn into others: the upper case of `ſ` is `S`.
      .regex(/^[\x21-\x7e]+$/, notARecordType)
      .toUpperCase()
      .pipe(z.enum(recordTypes, notARecordType))
      .meta({ enum: [...recordTypes, ...recordTypes.map((type) => type.toLowerCase())] })
  )
}

/**
 * Patterns for the OpenAPI document, of texts that are judged by functions. They forbid only characters that are always
 * refused, because a gateway that reads the document must let through what the service accepts. It may see the octets
 * of UTF-8 as Latin-1, so what is above ASCII there is allowed everywhere.
 */
export const patterns = {
  /** Without control and bidirectional formatting characters. */
  plainText: '^[^\\x00-\\x1f\\x7f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]+$',
  /** Of ASCII only letters, digits and `-._:`. */
  hostOrIp: '^[^\\x00-,/;-@\\[-\\^`{-\\x7f]+$',
  /** The same, and brackets. */
  hostAndPort: '^[^\\x00-,/;-@\\\\^`{-\\x7f]+$',
  /** A name of DNS, in which a backslash stands before what has a meaning. */
  dnsName: '^(?:[^\\x00-\\x20\\x7f@\\\\]|\\\\[ -~])+$',
} as const

/** Makes a refinement fail with this refusal instead of `invalid_request` with the field's name. */
export function refuseWith(refusal: Refusal): { readonly params: { readonly refusal: Refusal } } {
  return { params: { refusal } }
}
