import { printable } from '../../../errors.ts'
import { type PolicyTestResult, testFile } from '../../../keeper/policy-tools/test-on-journal.ts'
import { elsewhere } from '../../output/format.ts'
import { type Io, usageError } from '../../parse/command.ts'
import { placeOf } from '../../target/place.ts'

const LAST_MAX = 10_000
const LAST_DEFAULT = 1_000
const LINE_MAX = 1_000

type TestedType = PolicyTestResult['types'][number]
type Difference = TestedType['refusedNow'][number]

/** Say what a policy would have done to the answers in the journal. @returns 0 where nothing differs, else 1. */
export async function testPolicy(
  file: string,
  { config, last = String(LAST_DEFAULT), json }: TestOptions,
  io: Io,
): Promise<number> {
  const count = Number(last)
  if (!/^\d+$/.test(last) || count < 1 || count > LAST_MAX) {
    throw usageError(`--last is "${last}".`, `give a whole number from 1 to ${LAST_MAX}`)
  }
  const tested = await testFile(file, config, { place: await placeOf({ config }, io), last: count })
  if (tested.archives.length > 0) io.err(elsewhere(tested.archives))
  io.out(json === true ? `${JSON.stringify(tested)}\n` : textOf(tested))
  return tested.types.some(isOther) ? 1 : 0
}

type TestOptions = {
  readonly config: string
  readonly last?: string | undefined
  readonly json?: true | undefined
}

const isOther = ({ refusedNow, clearedNow }: TestedType) => refusedNow.length + clearedNow.length > 0

function textOf({ role, looked, types }: PolicyTestResult): string {
  if (types.length === 0) return `Of ${looked} workflows of the ${role} none has an answer that was judged.\n`
  const judged = types.reduce((sum, each) => sum + each.judged, 0)
  return `Of ${looked} workflows of the ${role}, ${judged} answers were judged.\n${types.map(typeText).join('')}${NOT_JUDGED}`
}

const NOT_JUDGED = `
Judged as the static guard would have then. What takes the chain is not: facts, simulation, effects, budgets.
`

const typeText = ({ workflowType, clearedBoth, refusedBoth, refusedNow, clearedNow }: TestedType): string =>
  [
    '',
    `${printable(workflowType)}: ${clearedBoth} cleared then and now, ${refusedBoth} refused then and now`,
    ...groupsOf(refusedNow).map((group) => `  cleared then, refused now: ${groupText(group)}`),
    ...groupsOf(clearedNow).map((group) => `  refused then, cleared now: ${groupText(group)}`),
    '',
  ].join('\n')

const groupsOf = (differences: readonly Difference[]) => [
  ...Map.groupBy(differences, ({ check }) => check).values(),
]

/** So many by one check, and one of them as an example. */
const groupText = ([first, ...others]: readonly Difference[]): string =>
  first === undefined
    ? ''
    : `${others.length + 1} by ${printable(first.check)}\n      ${first.id.slice(0, 8)}: ${printable(first.message, LINE_MAX)}`
