import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { parseSync } from 'oxc-parser'
import { describe, expect, it } from 'vitest'
import { agents } from '../agents/index.ts'

/** One import or re-export. A type-only one is gone at run time. */
type Edge = {
  readonly from: string
  /** A file of ours, or a package with its subpath. */
  readonly to: string
  readonly names: readonly string[]
  readonly typeOnly: boolean
  readonly reExport: boolean
}

const filesUnder = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(root, name))
const files = ['agents', 'src'].flatMap(filesUnder)
const edges = files.flatMap(edgesOf)

function edgesOf(from: string): readonly Edge[] {
  const text = readFileSync(from, 'utf8')
  const { module, errors } = parseSync(from, text)
  if (errors.length > 0) throw new SyntaxError(`${from}: ${errors[0]?.message}`)
  const to = (request: string) =>
    request.startsWith('.') ? normalize(join(dirname(from), request)) : request
  const imports = module.staticImports.map(({ moduleRequest, entries }) => ({
    from,
    to: to(moduleRequest.value),
    names: entries.filter(({ isType }) => !isType).map(({ importName }) => importName.name ?? '*'),
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
    reExport: false,
  }))
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, importName, isType }) =>
      moduleRequest === null
        ? []
        : [
            {
              from,
              to: to(moduleRequest.value),
              names: [importName.name ?? '*'],
              typeOnly: isType,
              reExport: true,
            },
          ],
    ),
  )
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const request = /^(['"])(.*)\1$/.exec(text.slice(start, end))?.[2]
    if (request === undefined) throw new SyntaxError(`${from}: an import with a computed name hides an arrow`)
    return [{ from, to: to(request), names: ['*'], typeOnly: false, reExport: false }]
  })
  return [...imports, ...exports, ...dynamic]
}

const STAGES = ['observe', 'prepare', 'guard', 'sign', 'broadcast', 'track']
/** The first nouns, and how a foreign text is told: they import nothing but each other and the schemas. */
const NOUNS = ['agent', 'clock', 'errors', 'foreign', 'keeper-events', 'recent-ids'].map(
  (name) => `src/${name}.ts`,
)
const SCHEMAS = [
  'scalars',
  'resources',
  'trade-resources',
  'vault-resources',
  'fund-resources',
  'fund-assumptions',
  'directory-resources',
  'tenant-resources',
  'workflows',
  'workflow-inputs',
  'workflow-types',
  'event-types',
  'assumptions',
  'catalogue',
  'selection',
  'openapi-schemas',
  'openapi',
].map((name) => `src/service/${name}.ts`)

/** The room of a file: its folder under src/, `agents`, `nouns`, `schemas`, or `root` for what joins the rooms. */
function room(file: string): string {
  if (NOUNS.includes(file)) return 'nouns'
  if (SCHEMAS.includes(file)) return 'schemas'
  if (file.startsWith('agents/')) return 'agents'
  return /^src\/([^/]+)\//.exec(file)?.[1] ?? 'root'
}

/** What each room may import at run time, beside itself; whoever is not here joins the others and may import all. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  nouns: ['schemas'],
  schemas: [],
  protocol: ['nouns'],
  workflow: ['nouns', 'schemas'],
  agents: ['nouns', 'protocol', 'schemas'],
  // The guard takes no arithmetic from protocol/: one mistake must not pass twice.
  ...Object.fromEntries(STAGES.map((stage) => [stage, ['nouns', 'schemas', 'workflow']])),
  observe: ['nouns', 'schemas', 'workflow', 'protocol'],
  service: ['nouns', 'schemas', 'workflow'],
  chain: ['nouns'],
  journal: ['nouns', 'workflow'],
  queue: ['nouns'],
  ops: ['nouns', 'workflow'],
  config: ['nouns', 'schemas'],
  sandbox: ['nouns', 'schemas'],
}

const STARTS_SANDBOX = 'src/cli/sandbox-process.ts'
const SANDBOX_COMMANDS = ['src/cli/start.ts', 'src/cli/sandbox.ts']

/** Each vendor has one home, so that replacing it, or its failures, is one folder's matter. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  undici: ['service'],
  cockatiel: ['service'],
  ws: ['service', 'sandbox'],
  '@aws-sdk/client-kms': ['sign'],
  yaml: ['config'],
  'prom-client': ['ops'],
  pino: ['ops'],
  'node:sqlite': ['journal', 'sandbox'],
  'yocto-spinner': ['cli'],
  fastify: ['sandbox'],
  ioredis: ['journal', 'queue'],
  bullmq: ['queue'],
}

/** What of viem talks to a node. */
const TRANSPORTS = [
  'http',
  'webSocket',
  'ipc',
  'fallback',
  'custom',
  'createClient',
  'createPublicClient',
  'createWalletClient',
  'createTestClient',
  'createTransport',
]

const shown = ({ from, to }: Edge) => `${from} → ${to}`
const ours = edges.filter(({ to }) => !isPackage(to))
const packages = edges.filter(({ to }) => isPackage(to))
function isPackage(to: string): boolean {
  return !/^(agents|src|package\.json)/.test(to)
}
const packageOf = (to: string) =>
  to
    .split('/')
    .slice(0, to.startsWith('@') ? 2 : 1)
    .join('/')

describe('the house', () => {
  it('reads every file it speaks of', () => {
    expect(files.length).toBeGreaterThan(50)
    expect([...NOUNS, ...SCHEMAS].filter((file) => !existsSync(file))).toEqual([])
    expect(ours.filter(({ to }) => !existsSync(to)).map(shown)).toEqual([])
  })

  it('lets its arrows run one way', () => {
    const wrong = ours.filter(({ from, to, typeOnly }) => {
      const allowed = MAY_IMPORT[room(from)]
      return allowed !== undefined && !typeOnly && room(from) !== room(to) && !allowed.includes(room(to))
    })
    expect(wrong.map(shown)).toEqual([])
  })

  it('lets agents see pure types only, and no agent see another', () => {
    const pure = ['agents', 'nouns', 'protocol', 'schemas', 'workflow']
    const fromAgents = ours.filter(({ from }) => room(from) === 'agents')
    expect(fromAgents.filter(({ to }) => !pure.includes(room(to))).map(shown)).toEqual([])
    const role = (file: string) => file.split('/')[1]
    const across = fromAgents.filter(({ from, to }) => to.startsWith('agents/') && role(from) !== role(to))
    expect(across.filter(({ from }) => from !== 'agents/index.ts').map(shown)).toEqual([])
    const used = packages.filter(({ from, typeOnly }) => room(from) === 'agents' && !typeOnly)
    expect(used.filter(({ to }) => packageOf(to) !== 'zod').map(shown)).toEqual([])
  })

  it('lets no stage know another, not even by type', () => {
    const between = ours.filter(
      ({ from, to }) => room(from) !== room(to) && STAGES.includes(room(from)) && STAGES.includes(room(to)),
    )
    expect(between.map(shown)).toEqual([])
  })

  it('keeps the sandbox a guest: nothing of the product imports it but the command that starts it', () => {
    const entering = ours.filter(({ from, to }) => room(from) !== 'sandbox' && room(to) === 'sandbox')
    expect(entering.filter(({ from }) => from !== STARTS_SANDBOX).map(shown)).toEqual([])
    const starting = ours.filter(({ to }) => to === STARTS_SANDBOX)
    expect(starting.filter(({ from }) => !SANDBOX_COMMANDS.includes(from)).map(shown)).toEqual([])
  })

  it('lets the witness know nothing of what it witnesses', () => {
    const own = filesUnder('test/conformance').flatMap(edgesOf)
    expect(own.length).toBeGreaterThan(20)
    const knowing = own.filter(
      ({ to }) => /^(\.|\/|agents|src|test)/.test(to) && !to.startsWith('test/conformance/'),
    )
    expect(knowing.map(shown)).toEqual([])
  })

  it('lets only commands import commands', () => {
    expect(ours.filter(({ from, to }) => room(from) !== 'cli' && room(to) === 'cli').map(shown)).toEqual([])
  })

  it('gives each vendor one home', () => {
    const strayed = packages.filter(({ from, to, typeOnly }) => {
      const homes = HOMES[packageOf(to)]
      return homes !== undefined && !typeOnly && !homes.includes(room(from))
    })
    expect(strayed.map(shown)).toEqual([])
  })

  it('lets only chain/ and the sandbox talk to nodes', () => {
    const talking = packages.filter(
      ({ from, to, names }) =>
        packageOf(to) === 'viem' &&
        !['chain', 'sandbox'].includes(room(from)) &&
        names.some((name) => TRANSPORTS.includes(name)),
    )
    expect(talking.map(shown)).toEqual([])
  })

  it('lets no signer reach what is in shadow', () => {
    const reached = new Set(['src/shadow-stages.ts', 'src/shadow-lots.ts'])
    for (const file of reached) {
      for (const { from, to, typeOnly } of ours) if (from === file && !typeOnly) reached.add(to)
    }
    const signing =
      /^src\/(sign\/|signers|hands|carry|conclude|attest|stages|service\/session)|^src\/broadcast\/(?!fees)/
    expect([...reached].filter((file) => signing.test(file))).toEqual([])
    // Not even as a type: what has no name there cannot be handed in.
    const named = ours.filter(({ from, to }) => reached.has(from) && /^src\/sign\//.test(to))
    expect(named.map(shown)).toEqual([])
    expect(reached.size).toBeGreaterThan(20)
  })

  it('has no import cycle', () => {
    expect(cyclesOf(ours.filter(({ typeOnly }) => !typeOnly))).toEqual([])
  })

  it('re-exports nothing', () => {
    expect(edges.filter(({ reExport, from }) => reExport && from !== 'agents/index.ts').map(shown)).toEqual(
      [],
    )
  })

  it('has no folder or file whose name says nothing', () => {
    const empty =
      /(^|\/)(utils?|helpers?|common|core|types|services|lib|misc|shared)(\/|\.ts$)|\.(service|utils?|types)\.ts$/
    expect(files.filter((file) => empty.test(file))).toEqual([])
    expect(files.filter((file) => !/^[a-z0-9/-]+\.ts$/.test(file))).toEqual([])
    expect(files.filter((file) => file.endsWith('/index.ts') && file !== 'agents/index.ts')).toEqual([])
  })

  it('spells the roles one way', () => {
    const folders = readdirSync('agents', { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(
      folders.map(({ name }) => name).filter((name) => !agents.some(({ role }) => role === name)),
    ).toEqual([])
  })

  it('keeps files short: half of them under 150 lines, nine of ten under 300', () => {
    const written = files.filter((file) => file !== 'src/sandbox/contracts/abis.ts')
    const lengths = written
      .map((file) => readFileSync(file, 'utf8').split('\n').length)
      .toSorted((a, b) => a - b)
    expect(lengths[Math.floor(lengths.length * 0.5)]).toBeLessThan(150)
    expect(lengths[Math.floor(lengths.length * 0.9)]).toBeLessThan(300)
  })
})

/** Find the groups of files that import each other in a circle (Tarjan's strongly connected components). */
function cyclesOf(all: readonly Edge[]): readonly (readonly string[])[] {
  const next = Map.groupBy(all, ({ from }) => from)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const cycles: string[][] = []
  const visit = (file: string) => {
    order.set(file, order.size)
    let low = order.size - 1
    open.push(file)
    for (const { to } of next.get(file) ?? []) {
      if (!order.has(to)) visit(to)
      if (open.includes(to)) low = Math.min(low, lowest.get(to) ?? order.get(to) ?? low)
    }
    lowest.set(file, low)
    if (low !== order.get(file)) return
    const group = open.splice(open.indexOf(file))
    if (group.length > 1 || (next.get(file) ?? []).some(({ to }) => to === file)) cycles.push(group)
  }
  for (const file of next.keys()) if (!order.has(file)) visit(file)
  return cycles
}

describe('the search for cycles', () => {
  const edge = (from: string, to: string): Edge => ({ from, to, names: [], typeOnly: false, reExport: false })

  it('finds circles apart from each other, and a file that imports itself', () => {
    const around = [edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('x', 'a'), edge('y', 'y')]
    expect(cyclesOf(around).map((group) => group.toSorted())).toEqual([['a', 'b', 'c'], ['y']])
  })

  it('finds none where two ways lead to one file', () => {
    expect(cyclesOf([edge('a', 'b'), edge('a', 'c'), edge('b', 'd'), edge('c', 'd')])).toEqual([])
  })
})
