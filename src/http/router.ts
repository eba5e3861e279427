import { refusal, UtilityApiError, type Refusal } from '../domain/errors.ts'

/** What a path is matched against. */
export interface Routed {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The path as in the contract, with parameters in braces. */
  readonly path: string
}

/** The target that a path leads to, with the path's parameters. */
export interface Route<Target> {
  readonly target: Target
  readonly params: Readonly<Record<string, string>>
}

export const noParams: Readonly<Record<string, string>> = {}

/** Returns a function that finds the route of a request target, or null if there is none. Ignores methods. */
export function createRouter<Target extends Routed>(
  targets: readonly Target[],
  basePath: string,
): (url: string) => Route<Target> | null {
  const fixed = new Map<string, Route<Target>>()
  const variable: ((path: string) => Route<Target> | null)[] = []
  for (const target of targets) {
    if (target.path.includes('{')) variable.push(matcherOf(target))
    else fixed.set(target.path, { target, params: noParams })
  }

  const prefix = `${basePath}/`
  const find = (path: string): Route<Target> | null => {
    const route = fixed.get(path)
    if (route !== undefined) return route
    for (const match of variable) {
      const found = match(path)
      if (found !== null) return found
    }
    return null
  }
  return (url) => {
    const path = pathOf(url)
    // A host may have stripped the base path already, and what it left may begin in the same way.
    return (path.startsWith(prefix) ? find(path.slice(basePath.length)) : null) ?? find(path)
  }
}

/** The most segments that a prefix is looked for in, because a path of slashes should cost no more than another. */
const longestPrefix = 4

/**
 * Returns why a path leads nowhere if it is nearly that of a route, or undefined. The text is for the log, and has nothing
 * of the path.
 */
export function nearMissOf(url: string, isRoute: (path: string) => boolean): string | undefined {
  const path = pathOf(url)
  if (path.endsWith('/') && isRoute(path.slice(0, -1)))
    return 'The path is that of an operation, with a slash at its end.'
  for (let segments = 0, at = path.indexOf('/', 1); at !== -1 && segments < longestPrefix; segments += 1) {
    if (isRoute(path.slice(at)))
      return 'The path is that of an operation, after a prefix that basePath (--prefix) does not name.'
    at = path.indexOf('/', at + 1)
  }
  return undefined
}

/** Returns a matcher for a path with one parameter, which must be a whole segment and not empty. */
function matcherOf<Target extends Routed>(target: Target): (path: string) => Route<Target> | null {
  const [before = '', name = '', after = ''] = target.path.split(/[{}]/)
  return (path) => {
    if (!path.startsWith(before) || !path.endsWith(after)) return null
    const segment = path.slice(before.length, path.length - after.length)
    const value = segment === '' || segment.includes('/') ? null : decodeSegment(segment)
    return value === null ? null : { target, params: { [name]: value } }
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

/** Returns a request target's path. Avoids `new URL`, which throws on a bad Host and resolves `..` in a license key. */
function pathOf(url: string): string {
  const target = upTo('#', upTo('?', url))
  if (target.startsWith('/')) return target
  const scheme = target.indexOf('://')
  const start = scheme === -1 ? -1 : target.indexOf('/', scheme + '://'.length)
  return start === -1 ? '/' : target.slice(start)
}

function upTo(end: string, text: string): string {
  const at = text.indexOf(end)
  return at === -1 ? text : text.slice(0, at)
}

export function isAllowed(method: string, routed: Routed): boolean {
  return method === routed.method || (method === 'HEAD' && routed.method === 'GET')
}

export function allowedMethods({ method }: Routed): string {
  return method === 'GET' ? 'GET, HEAD, OPTIONS' : `${method}, OPTIONS`
}

/** The refusal of a path that no operation has. */
export const nothingHere: Refusal = refusal('not_found', 'There is nothing at this path.')

/** Returns the refusal of a method that a path does not have. */
export function methodNotAllowed(routed: Routed): UtilityApiError {
  const allow = allowedMethods(routed)
  return new UtilityApiError('method_not_allowed', `The method must be one of ${allow}.`, {
    headers: { Allow: allow },
  })
}
