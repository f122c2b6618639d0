import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type Program, parseSync, Visitor } from 'oxc-parser'

/** One import or re-export. Types count: a circle of types is a circle for who reads it. */
export type Edge = {
  readonly from: string
  /** A file of ours, or a package with its subpath. */
  readonly to: string
  /** What is imported by name; `*` for all of it. */
  readonly names: readonly string[]
  /** Gone at run time. */
  readonly typeOnly: boolean
  readonly reExport: boolean
}

/** A TypeScript file, parsed. */
export type SourceFile = {
  /** From the repository's root, with slashes. */
  readonly path: string
  readonly text: string
  readonly program: Program
  readonly edges: readonly Edge[]
}

/** Everything that a rule may look at. */
export type Tree = {
  /** Of agents/, src/, sandbox/ and test/. */
  readonly files: readonly SourceFile[]
  /** Names in policies/. */
  readonly policies: readonly string[]
}

/** Finds what breaks it; empty where nothing does. */
export type Rule = (tree: Tree) => readonly string[]

/** Read the tree from disk. */
export const readTree = (): Tree => ({
  files: ['agents', 'src', 'sandbox', 'test'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      // One file is as the console's page loads it.
      .filter((name) => name.endsWith('.ts') || name === 'readable.js')
      .map((name) => join(root, name))
      .map((path) => parseFile(path, readFileSync(path, 'utf8'))),
  ),
  policies: readdirSync('policies').filter((name) => name !== 'shared'),
})

/** It loads the tests that it is given, and nothing loads it. */
const LOADS_TESTS = 'test/lab/mutation/judge.ts'

/** Parse a file and list its imports. Pure. Throws SyntaxError on what is no TypeScript, or hides an import. */
export function parseFile(path: string, text: string): SourceFile {
  const { program, module, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const edge = (request: string, names: readonly string[], typeOnly: boolean, reExport = false): Edge => {
    const to = request.startsWith('.') ? normalize(join(dirname(path), request)) : request
    return { from: path, to, names, typeOnly, reExport }
  }
  const imports = module.staticImports.map(({ moduleRequest, entries }) =>
    edge(
      moduleRequest.value,
      entries.map(({ importName }) => importName.name ?? '*'),
      entries.length > 0 && entries.every(({ isType }) => isType),
    ),
  )
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, importName, isType }) =>
      moduleRequest === null ? [] : [edge(moduleRequest.value, [importName.name ?? '*'], isType, true)],
    ),
  )
  const dynamic = module.dynamicImports.map(({ moduleRequest: { start, end } }) => {
    const request = /^(['"])(.*)\1$/.exec(text.slice(start, end))?.[2]
    if (request === undefined && path === LOADS_TESTS) return edge('test', ['*'], false)
    if (request === undefined) throw new SyntaxError(`${path}: an import with a computed name hides an arrow`)
    return edge(request, ['*'], false)
  })
  const types: Edge[] = []
  new Visitor({
    TSImportType: ({ source, qualifier }) => {
      types.push(edge(source.value, [qualifier?.type === 'Identifier' ? qualifier.name : '*'], true))
    },
  }).visit(program)
  return { path, text, program, edges: [...imports, ...exports, ...dynamic, ...types] }
}

/** Find the files that a run of some files loads, themselves included. Pure. */
export function reachOf({ files }: Tree, isStart: (file: SourceFile) => boolean): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set(files.filter(isStart).map(({ path }) => path))
  // A set's iteration meets what is added on the way.
  for (const path of reached) {
    for (const { to, typeOnly } of byPath.get(path)?.edges ?? []) if (!typeOnly) reached.add(to)
  }
  return reached
}

/** Whether a path is of the product: of agents/ or src/. Pure. */
export const isProduct = (path: string): boolean => /^(agents|src)\//.test(path)

/** Whether an edge leads to a package, one of Node's own included. Pure. */
export const isPackage = ({ to }: Edge): boolean => !/^(agents|src|sandbox|test|package\.json)(\/|$)/.test(to)

/** Show an edge. Pure. */
export const shown = ({ from, to }: Edge): string => `${from} → ${to}`
