import { type Edge, isPackage, isProduct, type Rule, reachOf, shown, type Tree } from './tree.ts'

/**
 * The rooms by floors, the lowest first: an import leads to a room of a lower floor. Rooms of one floor do not know
 * each other. workflow/ holds nouns only and lies below the agents' contract, because a proposal is both what an agent
 * returns and what a workflow carries.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['clock', 'errors', 'units', 'readable'],
  ['service/contract', 'agents/protocol'],
  ['service', 'chain', 'sign', 'workflow', 'agents/rows.ts', 'agents/board.ts'],
  ['agents/agent.ts'],
  ['observe', 'config', 'agents/ROLE', 'agents/by-hand.ts'],
  ['guard', 'journal', 'queue', 'ops', 'agents/index.ts'],
  ['decide', 'pipeline', 'fleet', 'accounts'],
  ['keeper'],
  ['cli'],
]

/** Only the composition root joins everything below it. */
const JOINS_ALL = 'keeper'

/** The room of a file, by its folder alone. Pure. */
export function roomOf(path: string): string {
  const [top = '', folder = '', inner = '', ...deeper] = path.split('/')
  if (top !== 'src') return top === 'agents' ? `agents/${folder}` : top
  if (folder === 'service' && inner === 'contract' && deeper.length > 0) return 'service/contract'
  return folder.replace(/\.[jt]s$/, '')
}

const isRole = (room: string) => /^agents\/(?!protocol$)[^.]+$/.test(room)

const floorOf = (room: string): number =>
  FLOORS.findIndex((floor) => floor.includes(isRole(room) ? 'agents/ROLE' : room))

/** The imports between rooms of the product. */
const arrows = ({ files }: Tree): readonly Edge[] =>
  files
    .flatMap(({ edges }) => edges)
    .filter(({ from, to }) => isProduct(from) && isProduct(to) && roomOf(from) !== roomOf(to))

/** Every folder of the product has a floor, so that no room is free to import what it likes. */
export const roomsHaveFloors: Rule = ({ files }) => [
  ...new Set(
    files
      .filter(({ path }) => isProduct(path))
      .map(({ path }) => roomOf(path))
      .filter((room) => floorOf(room) === -1),
  ),
]

/** Imports lead down. */
export const arrowsLeadDown: Rule = (tree) =>
  arrows(tree)
    .filter(({ from, to }) => floorOf(roomOf(from)) <= floorOf(roomOf(to)))
    .map(shown)

/** No room but the composition root imports every room below it. */
export const noRoomImportsAll: Rule = (tree) => {
  const known = Map.groupBy(arrows(tree), ({ from }) => roomOf(from))
  return [...known].flatMap(([room, edges]) => {
    const below = FLOORS.slice(0, Math.max(floorOf(room), 0))
      .flat()
      .filter((other) => other.startsWith('agents/') === false)
    const imported = new Set(edges.map(({ to }) => roomOf(to)))
    const isAll = below.length > 4 && below.every((other) => imported.has(other))
    return isAll && room !== JOINS_ALL ? [`${room} imports all of ${below.join(', ')}`] : []
  })
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/'))

/** Two folders of one room do not import each other, unless one is inside the other. */
export const siblingsLeadOneWay: Rule = ({ files }) => {
  const between = Map.groupBy(
    files
      .flatMap(({ edges }) => edges)
      .filter(({ from, to }) => isProduct(from) && isProduct(to) && roomOf(from) === roomOf(to)),
    ({ from, to }) => `${folderOf(from)}/ → ${folderOf(to)}/`,
  )
  return [...between].flatMap(([arrow, [edge]]) => {
    const [one = '', other = ''] = arrow.split(' → ')
    const isInside = one.startsWith(other) || other.startsWith(one)
    return edge === undefined || isInside || !between.has(`${other} → ${one}`) ? [] : [shown(edge)]
  })
}

/** No files import each other in a circle, types included (Tarjan's strongly connected components). */
export const noCircles: Rule = ({ files }) => {
  const next = new Map(files.map(({ path, edges }) => [path, edges]))
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[] = []
  const visit = (path: string) => {
    let low = order.size
    order.set(path, low)
    open.push(path)
    for (const { to } of next.get(path) ?? []) {
      if (!order.has(to)) visit(to)
      if (open.includes(to)) low = Math.min(low, lowest.get(to) ?? order.get(to) ?? low)
    }
    lowest.set(path, low)
    if (low !== order.get(path)) return
    const group = open.splice(open.indexOf(path))
    const isOwn = next.get(path)?.some(({ to }) => to === path) === true
    if (group.length > 1 || isOwn) circles.push(group.toSorted().join(' ⇄ '))
  }
  for (const path of next.keys()) if (!order.has(path)) visit(path)
  return circles
}

/** Every import of ours leads to a file that is there. */
export const importsExist: Rule = ({ files }) => {
  const paths = new Set(files.map(({ path }) => path))
  return files
    .flatMap(({ edges }) => edges)
    .filter((edge) => !isPackage(edge) && edge.to.endsWith('.ts') && !paths.has(edge.to))
    .map(shown)
}

/** What may be known in agents/, beside one's own files: pure nouns, and for a role the contract and the arithmetic. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  'agents/rows.ts': ['service/contract'],
  'agents/board.ts': [],
  'agents/agent.ts': [
    'units',
    'readable',
    'workflow',
    'service/contract',
    'agents/rows.ts',
    'agents/board.ts',
    'agents/protocol',
  ],
  'agents/protocol': ['units', 'readable', 'agents/agent.ts'],
  // errors.ts makes texts of others printable, which is pure.
  'agents/ROLE': [
    'errors',
    'units',
    'readable',
    'workflow',
    'service/contract',
    'agents/rows.ts',
    'agents/board.ts',
    'agents/agent.ts',
    'agents/protocol',
  ],
}
/** What of packages runs in agents/; viem gives types, and encodings to the protocol's arithmetic. */
const PURE_PACKAGES = ['zod', 'croner', 'csv-parse/sync']
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bcrypto\.|\bperformance\.|\bprocess\.|\bset(Timeout|Interval|Immediate)\b|\bfetch\(/

/** Agents see pure things only, and no agent sees another. */
export const agentsArePure: Rule = (tree) => {
  const impure = arrows(tree).filter(({ from, to }) => {
    const room = roomOf(from)
    return PURE[isRole(room) ? 'agents/ROLE' : room]?.includes(roomOf(to)) === false
  })
  const packages = tree.files
    .flatMap(({ edges }) => edges)
    .filter((edge) => edge.from.startsWith('agents/') && isPackage(edge))
    .filter(({ from, to, typeOnly }) => {
      const isViem = to === 'viem' && (typeOnly || roomOf(from) === 'agents/protocol')
      return !isViem && !PURE_PACKAGES.includes(to)
    })
  const calls = tree.files
    .filter(({ path, text }) => path.startsWith('agents/') && IMPURE.test(text))
    .map(({ path, text }) => `${path} has ${IMPURE.exec(text)?.[0]}`)
  return [...impure.map(shown), ...packages.map(shown), ...calls]
}

/** Outside agents/ a role is known by the registry: nobody imports the files of one. */
export const rolesAreData: Rule = (tree) =>
  arrows(tree)
    .filter(({ from, to }) => isRole(roomOf(to)) && !from.startsWith('agents/'))
    .map(shown)

/** The guard takes no arithmetic from protocol/, on no way: one mistake must not pass twice. */
export const guardRederives: Rule = (tree) =>
  [...reachOf(tree, ({ path }) => roomOf(path) === 'guard')]
    .filter((path) => roomOf(path) === 'agents/protocol')
    .map((path) => `guard reaches ${path}`)

/** A verb of the pipeline imports no other verb, and not the table of contents that lists it. */
export const verbsStandAlone: Rule = ({ files }) =>
  files
    .flatMap(({ edges }) => edges)
    .filter(({ from, to }) => IS_VERB.test(from) && /^src\/pipeline\/[^/]+$/.test(to))
    .map(shown)

/** What a verb is made of, deeper in its room, does not lead to another one either. */
const IS_VERB = /^src\/pipeline\/(?!pipeline\.ts$)/
