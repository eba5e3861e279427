import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'

// Every member that a caller of the library may leave out, read from the types of what its functions take.

const sources = globSync('{src,adapters}/**/*.ts', { exclude: ['adapters/cli/**'] }).map((file) =>
  ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true),
)
const statements = sources.flatMap((source) => [...source.statements])
const types = new Map(
  statements
    .filter((statement) => ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
    .map((declaration) => [declaration.name.text, declaration]),
)

/** The port is what stores implement: the core calls it, and never with a member that is undefined. */
const isPort = (name: string): boolean => /Storage(?:Listing)?$/.test(name)

/** Returns the optional members with their types, by the name of the type or the method that takes them. */
export function optionalMembers(publicNames: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>()
  const seen = new Set<string>()

  function take(owner: string, type: ts.Node | undefined): void {
    if (type === undefined) return
    if (ts.isTypeReferenceNode(type) || ts.isExpressionWithTypeArguments(type)) {
      const name = type.getText().replace(/<.*/s, '')
      const declaration = types.get(name)
      for (const argument of type.typeArguments ?? []) take(owner, argument)
      if (declaration === undefined || isPort(name) || seen.has(name)) return
      seen.add(name)
      if (ts.isTypeAliasDeclaration(declaration)) return take(name, declaration.type)
      for (const { types: parents } of declaration.heritageClauses ?? [])
        for (const parent of parents) take(name, parent)
      return membersOf(name, declaration.members)
    }
    if (ts.isTypeLiteralNode(type)) return membersOf(owner, type.members)
    // What a function of the caller's is given comes from us.
    if (!ts.isFunctionTypeNode(type)) ts.forEachChild(type, (child) => take(owner, child))
  }

  function membersOf(owner: string, members: ts.NodeArray<ts.TypeElement>): void {
    for (const member of members.filter(ts.isPropertySignature)) {
      if (member.questionToken !== undefined && member.type?.kind !== ts.SyntaxKind.NeverKeyword)
        found.set(`${owner}.${member.name.getText()}`, member.type?.getText() ?? '')
      take(owner, member.type)
    }
  }

  const given = new Set<string>()
  /** Looks at what the methods of a type take that a function returns. */
  function give(type: ts.Node | undefined): void {
    if (type === undefined) return
    if (ts.isTypeReferenceNode(type) || ts.isExpressionWithTypeArguments(type)) {
      const name = type.getText().replace(/<.*/s, '')
      for (const argument of type.typeArguments ?? []) give(argument)
      const declaration = types.get(name)
      if (declaration === undefined || isPort(name) || given.has(name)) return
      given.add(name)
      ts.forEachChild(declaration, give)
      return
    }
    if (ts.isMethodSignature(type)) return called(type.name.getText(), type)
    if (ts.isPropertySignature(type) && type.type !== undefined && ts.isFunctionTypeNode(type.type))
      return called(type.name.getText(), type.type)
    ts.forEachChild(type, give)
  }

  function called(name: string, { parameters, type }: ts.SignatureDeclarationBase): void {
    for (const parameter of parameters) take(name, parameter.type)
    give(type)
  }

  for (const statement of statements)
    if (ts.isFunctionDeclaration(statement) && publicNames.has(statement.name?.text ?? ''))
      called(statement.name?.text ?? '', statement)
  return found
}
