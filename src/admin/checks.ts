import { isScope } from '../domain/credentials.ts'
import { demand } from '../domain/arguments.ts'
import { hasAtMostCodePoints, isPlainText } from '../domain/header-text.ts'

/** Tells whether text can identify a client, a reseller or a subject. */
export function isIdentifier(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text)
}

export function demandIdentifier(name: string, text: string | undefined): void {
  if (text !== undefined) demand(isIdentifier(text), `${name} must be 1 to 255 visible ASCII characters.`)
}

export function demandLabel(name: string | undefined): void {
  if (name === undefined) return
  const fits = isPlainText(name) && hasAtMostCodePoints(name, 255)
  demand(fits, 'name must have at most 255 characters, none of them control characters.')
}

export function demandScope(scope: string): void {
  demand(isScope(scope), 'scope must be names separated by single spaces, at most 1024 characters.')
}

/** Returns a scope with each name once, however often it was asked for. */
export function uniqueNames(scope: string): string {
  return [...new Set(scope.split(' '))].join(' ')
}

/** @see RFC 7636 section 4.2 */
export function isChallenge(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

export function demandInteger(name: string, value: number, max: number): void {
  const fits = Number.isInteger(value) && value >= 1 && value <= max
  demand(fits, `${name} must be an integer from 1 to ${max}.`)
}
