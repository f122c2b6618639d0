import {
  type Function as AnyFunction,
  type ArrowFunctionExpression,
  type Statement,
  Visitor,
} from 'oxc-parser'
import { HAND_ROLES, ROLES } from '../../src/service/contract/roles.ts'
import { type Rule, type SourceFile, shown } from './tree.ts'

const MEDIAN_LINES_MAX = 150
const ENTRIES_MAX = 20

const isTest = (path: string) => path.startsWith('test/')
const linesOf = (text: string) => text.trimEnd().split('\n').length

/** No object literal is spread into another: what it holds stands there by itself. */
export const literalsAreWhole: Rule = ({ files }) =>
  files.flatMap(({ path, text, program }) => {
    const found: string[] = []
    new Visitor({
      SpreadElement: ({ start, argument }) => {
        if (argument.type === 'ObjectExpression')
          found.push(`${path}:${linesOf(text.slice(0, start + 1))} spreads an object literal`)
      },
    }).visit(program)
    return found
  })

/** Half of the files are under 150 lines. */
export const mostFilesAreSmall: Rule = ({ files }) => {
  const lengths = files
    .filter(({ path }) => !isTest(path))
    .map(({ text }) => linesOf(text))
    .toSorted((a, b) => a - b)
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0
  return median < MEDIAN_LINES_MAX ? [] : [`half of the files have ${median} lines or more`]
}

/** At most 20 entries stand directly under src/. */
export const srcIsSurveyable: Rule = ({ files }) => {
  const entries = new Set(files.flatMap(({ path }) => /^src\/([^/]+)/.exec(path)?.[1] ?? []))
  return entries.size <= ENTRIES_MAX ? [] : [`src/ has ${entries.size} entries: ${[...entries].join(', ')}`]
}

const SAYS_NOTHING =
  /(^|\/)(utils?|helpers?|common|core|types|services|lib|misc|shared)(\/|\.ts$)|\.(service|utils?|types)\.ts$/
/** Names that this repository had, and that nobody could guess. */
const GUESSED = /\/(hands|pulse|tell|turns|gate|carry|sight|chores|foreign|our-nodes|recent)(\/|\.ts$)/

/** Names say something, in lower case with hyphens, and no folder hides behind an index. */
export const namesSaySomething: Rule = ({ files }) =>
  files
    .map(({ path }) => path)
    .filter(
      (path) =>
        SAYS_NOTHING.test(path) ||
        GUESSED.test(path) ||
        !/^[a-z0-9/-]+(\.test)?\.[jt]s$/.test(path) ||
        (path.endsWith('/index.ts') && path !== 'agents/index.ts'),
    )

/** Nothing is re-exported. */
export const nothingIsReExported: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter(({ reExport }) => reExport)
    .map(shown)

/** No file only forwards: exports nothing but what it imports, or calls that pass on what they were given. */
export const nothingOnlyForwards: Rule = ({ files }) =>
  files.filter(({ path }) => !isTest(path) && isForwarder(path, files)).map(({ path }) => path)

function isForwarder(path: string, files: readonly SourceFile[]): boolean {
  const file = files.find((one) => one.path === path)
  const exported = file?.program.body.filter(({ type }) => /^Export/.test(type)) ?? []
  if (file === undefined || exported.length === 0) return false
  const imported = new Set(
    file.program.body.flatMap((one) =>
      // To pick a value out of a file of data is something.
      one.type === 'ImportDeclaration' && !one.source.value.endsWith('.json')
        ? one.specifiers.map(({ local }) => local.name)
        : [],
    ),
  )
  return exported.every((one) => forwards(one, imported))
}

function forwards(one: Statement, imported: ReadonlySet<string>): boolean {
  if (one.type === 'ExportAllDeclaration') return true
  if (one.type === 'ExportDefaultDeclaration')
    return one.declaration.type === 'Identifier' && imported.has(one.declaration.name)
  if (one.type !== 'ExportNamedDeclaration') return false
  if (one.source !== null) return true
  const { declaration, specifiers } = one
  if (declaration === null) {
    return specifiers.every(({ local }) => local.type === 'Identifier' && imported.has(local.name))
  }
  if (declaration.type === 'FunctionDeclaration') return passesOn(declaration, imported)
  if (declaration.type === 'TSTypeAliasDeclaration') {
    const { typeAnnotation: type } = declaration
    return (
      type.type === 'TSTypeReference' &&
      type.typeName.type === 'Identifier' &&
      imported.has(type.typeName.name)
    )
  }
  if (declaration.type !== 'VariableDeclaration') return false
  return declaration.declarations.every(({ init }) => {
    if (init?.type === 'Identifier') return imported.has(init.name)
    if (init?.type === 'MemberExpression')
      return init.object.type === 'Identifier' && imported.has(init.object.name)
    return init?.type === 'ArrowFunctionExpression' && passesOn(init, imported)
  })
}

/** Whether a function calls what is imported with exactly what it was given. */
function passesOn(
  { params, body }: ArrowFunctionExpression | AnyFunction,
  imported: ReadonlySet<string>,
): boolean {
  const only = body?.type === 'BlockStatement' ? body.body[0] : undefined
  if (body?.type === 'BlockStatement' && body.body.length !== 1) return false
  const said =
    body?.type !== 'BlockStatement'
      ? body
      : only?.type === 'ReturnStatement'
        ? only.argument
        : only?.type === 'ExpressionStatement'
          ? only.expression
          : null
  const call = said?.type === 'AwaitExpression' ? said.argument : said
  if (call?.type !== 'CallExpression' || call.callee.type !== 'Identifier') return false
  type Node = { readonly type: string; readonly name?: unknown; readonly argument?: Node | null }
  const name = (node: Node): unknown => {
    if (node.type === 'Identifier') return node.name
    // What is gathered by `...` is passed on by `...`.
    const rest = /^(Rest|Spread)Element$/.test(node.type) && node.argument ? name(node.argument) : null
    return rest === null ? null : `...${rest}`
  }
  const given = params.map((param) => name(param))
  return (
    imported.has(call.callee.name) &&
    call.arguments.length === given.length &&
    call.arguments.every((argument, index) => name(argument) !== null && name(argument) === given[index])
  )
}

/** Where roles may be named: the guard's own files a role, and the contract that says what there are. */
const NAMES_ROLES = /^src\/(guard|service\/contract)\//

/** Nothing branches on a role's name: outside agents/ and guard/ none is written, as a text, a key or a folder. */
export const noBranchOnRoles: Rule = ({ files }) =>
  files
    .filter(({ path }) => path.startsWith('src/') && !NAMES_ROLES.test(path))
    .flatMap(({ path, text, program }) => {
      const found: string[] = path.split(/[/.]/).some(isRoleName) ? [`${path} is named for a role`] : []
      const note = (name: unknown, start: number) => {
        if (isRoleName(name)) found.push(`${path}:${linesOf(text.slice(0, start + 1))} says '${name}'`)
      }
      new Visitor({
        Literal: ({ value, start }) => note(value, start),
        TemplateElement: ({ value, start }) => note(value.cooked, start),
        Property: ({ key, start, computed }) => {
          if (!computed && key.type === 'Identifier') note(key.name, start)
        },
        TSPropertySignature: ({ key, start }) => {
          if (key.type === 'Identifier') note(key.name, start)
        },
        MemberExpression: ({ property, start }) => {
          if (property.type === 'Identifier') note(property.name, start)
        },
      }).visit(program)
      return found
    })

const isRoleName = (name: unknown): name is string => ROLES.some((role) => role === name)

/** Roles have one spelling: in agents/, in policies/ and in the contract's list; those worked by hand have no folder. */
export const rolesAreSpelledOneWay: Rule = ({ files, policies }) => {
  const folders = new Set(files.flatMap(({ path }) => /^agents\/([^/.]+)\//.exec(path)?.[1] ?? []))
  folders.delete('protocol')
  const named = new Set(policies.map((name) => name.replace(/\..*$/, '')))
  const odd = (names: ReadonlySet<string>, room: string, roles: readonly string[]) => [
    ...[...names].filter((name) => !roles.includes(name)).map((name) => `${room}/${name} is no role`),
    ...roles.filter((role) => !names.has(role)).map((role) => `${room}/ has no ${role}`),
  ]
  return [...odd(folders, 'agents', ROLES), ...odd(named, 'policies', [...ROLES, ...HAND_ROLES])]
}

/** Programs, whole-system tests and what tests share: they stand for no room of their own. */
const NO_ROOM = /^test\/(end-to-end|support|architecture|lab)\//

/** Tests of the tree, and of the pages beside it. */
const OF_THE_WHOLE = ['test/architecture.test.ts', 'test/docs.test.ts']

/** test/ mirrors agents/, src/ and sandbox/, folder by folder. */
export const testsMirror: Rule = ({ files }) => {
  const paths = files.map(({ path }) => path)
  const folders = new Set(paths.filter((path) => !isTest(path)).flatMap(parentsOf))
  return paths.filter((path) => {
    if (!isTest(path) || NO_ROOM.test(path) || OF_THE_WHOLE.includes(path)) return false
    const inner = path.replace(/^test\//, '')
    if (!inner.includes('/'))
      return !paths.some((each) => each.replace(/[jt]s$/, 'ts') === `src/${inner.replace('.test', '')}`)
    const mirrored = /^(agents|sandbox)\//.test(inner) ? inner : `src/${inner}`
    return !folders.has(mirrored.replace(/\/[^/]*$/, ''))
  })
}

const parentsOf = (path: string): readonly string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, index, folders) => folders.slice(0, index + 1).join('/'))

/** No test is skipped, run alone or tried again. */
export const testsAreRun: Rule = ({ files }) =>
  files
    .filter(
      ({ path, text }) =>
        path.endsWith('.test.ts') &&
        /\b(it|test|describe)(\.\w+)*\.(only|skip|todo|fails|skipIf|runIf)\b|\bretry: \d|\bvi\.(mock|doMock)\(/.test(
          text,
        ),
    )
    .map(({ path }) => path)
