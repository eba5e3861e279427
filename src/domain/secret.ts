import { hash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SecretKind } from './credentials.ts'

// In ASCII order, so that numbers of equal length sort as their texts do.
export const base62: string = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The numeric value of each base62 symbol, indexed by its character code. */
const values = new Uint8Array(128)
for (const [value, symbol] of [...base62].entries()) values[symbol.charCodeAt(0)] = value

/** The prefix of a generated secret of each kind. */
export const secretPrefixes: Readonly<Record<SecretKind, string>> = {
  access_token: 'uapi_at_',
  api_key: 'uapi_ak_',
  authorization_code: 'uapi_ac_',
  client_secret: 'uapi_cs_',
  reseller_token: 'uapi_rt_',
}

const prefixLength = 8
const checksumLength = 6
// 62 to the ninth power is the first power of 62 above 2 to the 48th.
const timeLength = 9
const maxTime = 2 ** 48 - 1

const randomForm = /^uapi_(?:ac|ak|at|cs|rt)_[0-9A-Za-z]{49}$/
const orderedForm = /^uapi_(?:ac|at)_[0-9A-Za-z]{42}$/
// Most texts have another length, and comparing lengths costs next to nothing.
const orderedLength = 50

/** Returns a time that fits in 48 bits. Anything but a number counts as 0, because a key generator must not throw. */
export function toTime48(at: number): number {
  return Math.min(Math.max(Math.trunc(at) || 0, 0), maxTime)
}

/** Returns a time as nine base62 symbols that sort as times do. */
export function timeSymbols(at: number): string {
  return toBase62(toTime48(at), timeLength)
}

/** The form of a bearer token, whose characters are allowed in every other place where a secret is sent. */
const secretForm = /^[A-Za-z0-9\-._~+/]+=*$/

/** Returns a new secret. One that no caller could send must not be sold. */
export function newSecret(
  keyGenerator: { secret(kind: SecretKind, at: number): string },
  kind: SecretKind,
  at: number,
): string {
  const secret = keyGenerator.secret(kind, at)
  if (typeof secret === 'string' && secretForm.test(secret)) return secret
  throw new Error(
    'The key generator made a secret that is no bearer token: letters, digits, -._~+/, and = at the end.',
  )
}

/** Returns a secret's text with its checksum appended. */
export function withChecksum(text: string): string {
  return text + toBase62(crc32(text), checksumLength)
}

/** Returns the time that a secret begins with, in milliseconds since the epoch, or null for any other text. */
export function timeOfSecret(text: string): number | null {
  if (text.length !== orderedLength || !orderedForm.test(text) || !hasChecksum(text)) return null
  const time = fromBase62(text.slice(prefixLength, prefixLength + timeLength))
  return time <= maxTime ? time : null
}

const anyPrefix = new RegExp(Object.values(secretPrefixes).join('|'), 'i')

/** Tells whether a text may have a generated secret in it, also one that was cut or changed. */
export function hasSecretPrefix(text: string): boolean {
  return anyPrefix.test(text)
}

/** Returns the kind of secret that a text's prefix names, or undefined for any other text. */
export function kindOfSecret(text: string): SecretKind | undefined {
  const kinds = Object.keys(secretPrefixes) as SecretKind[]
  return kinds.find((kind) => text.startsWith(secretPrefixes[kind]))
}

/** Tells whether a text has exactly a form of generated secrets but a wrong checksum. Such a text was never issued. */
export function isMistyped(text: string): boolean {
  return (randomForm.test(text) || orderedForm.test(text)) && !hasChecksum(text)
}

function hasChecksum(text: string): boolean {
  return crc32(text.slice(0, -checksumLength)) === fromBase62(text.slice(-checksumLength))
}

function toBase62(number: number, length: number): string {
  let rest = number
  let symbols = ''
  for (let count = 0; count < length; count += 1) {
    symbols = `${base62[rest % 62]}${symbols}`
    rest = Math.floor(rest / 62)
  }
  return symbols
}

function fromBase62(symbols: string): number {
  let number = 0
  for (let index = 0; index < symbols.length; index += 1) {
    number = number * 62 + (values[symbols.charCodeAt(index)] ?? 0)
  }
  return number
}

/** Returns the SHA-256 of a text: 32 bytes. */
export function sha256(text: string): Buffer {
  // Not as 'buffer': a buffer of its own costs three times as much as one from the pool.
  return Buffer.from(hash('sha256', text, 'binary'), 'binary')
}

/**
 * Returns the key that a secret is stored and looked up by: its SHA-256, 32 bytes. If the secret begins with its time,
 * the time replaces the first six bytes, so that new rows are next to each other in an index.
 *
 * Only the text decides the key, so that processes agree regardless of what made the secret.
 */
export function hashSecret(secret: string): Uint8Array {
  const key = sha256(secret)
  const time = timeOfSecret(secret)
  if (time !== null) key.writeUIntBE(time, 0, 6)
  return key
}

/**
 * Tells whether a secret matches one of the hashes, in time that depends on neither the secret nor which one matched.
 *
 * Compares the whole SHA-256: nothing is looked up by these hashes, so no bit of them is worth less than another.
 */
export function matchesSecret(secret: string, hashes: readonly Uint8Array[]): boolean {
  const presented = sha256(secret)
  let matched = false
  for (const each of hashes) {
    // An early exit here would reveal by its timing which of two live secrets was tried.
    if (each.length === presented.length && timingSafeEqual(each, presented)) matched = true
  }
  return matched
}
