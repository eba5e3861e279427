/** An object of a type with read-only members while it is made. */
export type Writable<Shape> = { -readonly [Name in keyof Shape]: Shape[Name] }
