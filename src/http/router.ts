import type { AnyOperation } from '../operations/operation.ts'

/** An operation found by its path, with the path's parameters. */
export interface Route {
  readonly operation: AnyOperation
  readonly params: Readonly<Record<string, string>>
}

const noParams: Readonly<Record<string, string>> = {}

/** Finds the operation of a path; null when there is none. Methods are not looked at. */
export function createRouter(
  operations: readonly AnyOperation[],
  basePath: string,
): (url: string) => Route | null {
  const fixed = new Map<string, Route>()
  const variable: ((path: string) => Route | null)[] = []
  for (const operation of operations) {
    if (operation.path.includes('{')) variable.push(matcherOf(operation))
    else fixed.set(operation.path, { operation, params: noParams })
  }

  return (url) => {
    const path = withoutPrefix(pathOf(url), basePath)
    const route = fixed.get(path)
    if (route !== undefined) return route
    for (const match of variable) {
      const found = match(path)
      if (found !== null) return found
    }
    return null
  }
}

/** Matches a path with one parameter, which is a whole segment and not empty. */
function matcherOf(operation: AnyOperation): (path: string) => Route | null {
  const [before = '', name = '', after = ''] = operation.path.split(/[{}]/)
  return (path) => {
    if (!path.startsWith(before) || !path.endsWith(after)) return null
    const segment = path.slice(before.length, path.length - after.length)
    const value = segment === '' || segment.includes('/') ? null : decodeSegment(segment)
    return value === null ? null : { operation, params: { [name]: value } }
  }
}

function decodeSegment(segment: string): string | null {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

const target = /^(?:[a-z][a-z\d+.-]*:\/\/[^/?#]*)?(\/[^?#]*)/i

/** The path of a request target. Parsed by hand: `new URL` throws on a bad Host and resolves `..` inside a license key. */
function pathOf(url: string): string {
  if (url.startsWith('/') && !url.includes('?') && !url.includes('#')) return url
  return target.exec(url)?.[1] ?? '/'
}

function withoutPrefix(path: string, basePath: string): string {
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
}

export function isAllowed(method: string, operation: AnyOperation): boolean {
  return method === operation.method || (method === 'HEAD' && operation.method === 'GET')
}

export function allowedMethods({ method }: AnyOperation): string {
  return method === 'GET' ? 'GET, HEAD, OPTIONS' : `${method}, OPTIONS`
}

/** @see RFC 6749 section 5.1 */
export function cacheHeaders({ security }: AnyOperation): Record<string, string> {
  return security.kind === 'client' ? { 'Cache-Control': 'no-store' } : {}
}
