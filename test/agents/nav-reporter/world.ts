import { encodeAbiParameters, encodeFunctionResult, type Hex, toFunctionSelector } from 'viem'
import type { Answer, Moment, Question } from '../../../agents/agent.ts'
import type { NavReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import { type Accepted, type NavReporterSeen, see } from '../../../agents/nav-reporter/see.ts'
import { NAV_ORACLE_VIEWS } from '../../../agents/protocol/nav.ts'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import { FUND, SIGNER, word } from './fixtures.ts'

/** What everyone would say who can be asked; null does not answer. */
export type World = {
  readonly nav: Accepted
  readonly interim: Accepted
  readonly administrator: string | null
  readonly custodian: string | null
  readonly valuer: string | null
  /** The lens's word for the value of a share. */
  readonly lens: Hex | null
  /** Each of the two views that sum to the idle assets. */
  readonly idle: Hex | null
  readonly fund: FundResource
  /** What fees are counted from; absent, the fund does not keep it. */
  readonly mark?: { readonly valueWad: bigint; readonly sinceS: number }
}

const latest = ({ value, valuationTimeS, revision, submittedAtS }: Accepted): Hex =>
  encodeFunctionResult({
    abi: NAV_ORACLE_VIEWS,
    functionName: 'latest',
    result: {
      value,
      valuationTime: BigInt(valuationTimeS),
      revision,
      submittedAt: BigInt(submittedAtS),
      reporter: SIGNER,
    },
  })
const ASSET = encodeAbiParameters([{ type: 'address' }], [FUND])
const DECIMALS = word(18n)
const BOUNDS = encodeFunctionResult({
  abi: NAV_ORACLE_VIEWS,
  functionName: 'bounds',
  result: [10n ** 12n, 10n ** 24n, 5_000],
})
/** "nav" as the first bytes of a word. */
const NAV_WORD = '6e617600'

type View = (world: World, data: Hex) => Hex | null
const views: ReadonlyMap<string, View> = new Map<string, View>([
  [toFunctionSelector('asset()'), () => ASSET],
  [toFunctionSelector('decimals()'), () => DECIMALS],
  [
    toFunctionSelector('latest(bytes32)'),
    ({ nav, interim }, data) => latest(data.includes(NAV_WORD) ? nav : interim),
  ],
  [toFunctionSelector('bounds(bytes32)'), () => BOUNDS],
  [toFunctionSelector('shareValueWad(address)'), ({ lens }) => lens],
  [toFunctionSelector('highWaterMark()'), ({ mark }) => (mark === undefined ? null : word(mark.valueWad))],
  [toFunctionSelector('feesPaidAt()'), ({ mark }) => (mark === undefined ? null : word(BigInt(mark.sinceS)))],
  [toFunctionSelector('idleAssets()'), ({ idle }) => idle],
  [toFunctionSelector('reservedAssets()'), ({ idle }) => idle],
])

/** Outside sources, by their names in the run configuration. */
const SAYS: Readonly<Record<string, (world: World) => string | null>> = {
  fundAdministrator: ({ administrator }) => administrator,
  fundCustodian: ({ custodian }) => custodian,
  fundValuer: ({ valuer }) => valuer,
}

/** Look as the keeper does: answer what is asked until nothing is left to ask. */
export function look(
  world: World,
  at: Moment,
  policy: NavReporterPolicy,
  previous: NavReporterSeen | null,
  signature?: string,
): { readonly seen: NavReporterSeen; readonly asked: readonly Question[]; readonly waves: number } {
  const asked: Question[] = []
  const answer = (question: Question): Answer => {
    asked.push(question)
    const text =
      question.kind === 'source'
        ? (SAYS[question.name]?.(world) ?? null)
        : (views.get(question.data.slice(0, 10))?.(world, question.data) ?? null)
    return text === null
      ? { ok: false, check: 'source_timeout', message: 'no' }
      : { ok: true, text, atMs: at.nowMs, ...(signature === undefined ? {} : { signature }) }
  }
  let found = see({ funds: [world.fund] }, at, policy, previous)
  let waves = 0
  for (; 'ask' in found; waves += 1) found = found.next(found.ask.map(answer), {})
  return { seen: found.seen, asked, waves }
}
