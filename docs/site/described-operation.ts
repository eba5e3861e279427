import type { OpenApiDocument } from 'utility-api'

// The part of an OpenAPI document that is shown, by its types.

export interface Schema {
  readonly type?: string
  readonly const?: string
  readonly enum?: readonly string[]
  readonly description?: string
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'header'
  readonly description: string
  readonly required: boolean
  readonly schema: Schema
  readonly example?: string
}

export interface Header {
  readonly description: string
  readonly example?: string
  readonly schema: Schema
}

export interface Reference {
  readonly $ref: string
}

interface Answer {
  readonly headers: Readonly<Record<string, Reference>>
  readonly content: {
    readonly 'application/json': {
      readonly schema: Schema
      readonly example?: unknown
      readonly examples?: Readonly<Record<string, { readonly value: Readonly<Record<string, string>> }>>
    }
  }
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly schema: Schema
        readonly example: Readonly<Record<string, string>>
      }
    }
  }
  readonly responses: Readonly<Record<string, Answer>>
}

/** What a reference leads to; anything else is itself. */
export function resolve<Type>(document: OpenApiDocument, value: Type | Reference): Type {
  const reference = (value as Partial<Reference>).$ref
  if (reference === undefined) return value as Type
  const [, , kind = '', name = ''] = reference.split('/')
  return (document.components[kind] as Record<string, Type>)[name] as Type
}
