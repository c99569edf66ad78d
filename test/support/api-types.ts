/** Makes the types of `api` of a node's own description of its API. */

import openapiTs, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'

/** Below it is the management API, which the client library is for. */
const prefix = '/api/v1'

/** The types of the management API, as TypeScript. */
export async function apiTypes(description: OpenAPI3): Promise<string> {
  const paths = Object.entries(description.paths ?? {}).filter(([path]) => path.startsWith(prefix))
  const management = { ...description, paths: Object.fromEntries(paths.map(([path, item]) => [cut(path), item])) }
  const nodes = await openapiTs(dropUnused(management), {
    alphabetize: true,
    // What a caller may leave out stays optional, though the node has a value for it.
    defaultNonNullable: false,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  return `/** Made by \`npm run api:types\` of the node's own description. */\n\n${astToString(takesUndefined(nodes))}`
}

const cut = (path: string): string => path.slice(prefix.length)

/** Without the schemas that no path leads to. */
function dropUnused(description: OpenAPI3): OpenAPI3 {
  const schemas = description.components?.schemas ?? {}
  const used = new Set<string>()
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      follow(schemas[name])
    }
  }
  follow(description.paths)
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  return { ...description, components: { ...description.components, schemas: kept } }
}

/** What may be left out may be undefined as well, for callers that compile with `exactOptionalPropertyTypes`. */
function takesUndefined(nodes: ts.Node[]): ts.Node[] {
  const { factory, SyntaxKind } = ts
  const widen: ts.TransformerFactory<ts.Node> = (context) => (root) => {
    const visit = (node: ts.Node): ts.Node => {
      const visited = ts.visitEachChild(node, visit, context)
      if (!ts.isPropertySignature(visited) || visited.questionToken === undefined || visited.type === undefined)
        return visited
      if (visited.type.kind === SyntaxKind.NeverKeyword) return visited
      const type = factory.createUnionTypeNode([
        visited.type,
        factory.createKeywordTypeNode(SyntaxKind.UndefinedKeyword),
      ])
      return factory.updatePropertySignature(visited, visited.modifiers, visited.name, visited.questionToken, type)
    }
    return visit(root)
  }
  return ts.transform(nodes, [widen]).transformed
}
