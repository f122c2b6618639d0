import { type Address, decodeFunctionData, type Hex, pad, toEventSelector, toHex } from 'viem'
import type { Call, Log, SimulationRequest, SimulationResult } from '../../../src/chain/nodes.ts'
import { type Checked, RolekeeperError } from '../../../src/errors.ts'
import { checkFinal, type FinalOptions } from '../../../src/guard/checks/check-final.ts'
import { TOKEN_VIEWS } from '../../../src/guard/reads/views.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { PLAIN } from '../../../src/guard/sanity/judgement.ts'
import { CHAIN_ID, COLLATERAL, freeze, LOAN, NOW_MS, SELF } from '../../guard/fixtures.ts'
import type { Kind } from '../../guard/kind.ts'
import { answerOf, deployment, NAV_DIGEST } from '../../guard/kinds.ts'
import { CHANNEL } from '../../guard/kinds-by-hand.ts'
import { STRANGER } from './attack.ts'

/** What a simulation shows where contracts or nodes are the attacker's: a result, or what the nodes throw. */
export type ChainAttack = {
  readonly name: string
  readonly incident?: string
  /** Null where it does not apply. */
  readonly on: (
    honest: SimulationResult,
    request: SimulationRequest,
  ) => SimulationResult | RolekeeperError | null
  readonly check: string
}

const HELD = 10n ** 18n
const OTHER_CODE: Hex = `0x${'ee'.repeat(32)}`
const word = (value: bigint): Hex => toHex(value, { size: 32 })
const event = (text: string, from: Address, to: Address, data: Hex, address: Address): Log => ({
  address,
  data,
  topics: [toEventSelector(text), pad(from), pad(to)],
})

/** What the bundle of a kind does to our balances, honestly. */
const changeOf = ({ name, proposal }: Kind, token: Address): bigint => {
  if (token === LOAN && (name === 'rfq-cancel' || name === 'rfq-refund')) return 1n
  if (token === COLLATERAL && name === 'settle') return 1n
  const { input, exposure } = proposal
  if (token === LOAN && name === 'fulfill-redeem') return 1n
  if (token === LOAN && (name === 'borrower-fee' || name.endsWith('-redeem')))
    return BigInt(String(input.minAssets ?? 0))
  if (token === CHANNEL && name === 'fee-shares') return BigInt(String(input.shares))
  if (token === CHANNEL && name.endsWith('-deposit')) return BigInt(String(input.minShares))
  return token === (exposure.token ?? LOAN) ? -exposure.assets : 0n
}

/** What honest nodes show of a bundle: it runs, and moves what it should. */
export function honestly(kind: Kind, request: SimulationRequest, pinned = deployment): SimulationResult {
  const pins = [...pinned.assets, ...pinned.markets, ...pinned.vaults, ...pinned.funds, ...pinned.contracts]
  const proxies = pins.flatMap(({ proxy }) => proxy ?? [])
  const answer =
    (isAfter: boolean) =>
    ({ to, data }: Call): Hex => {
      const run = proxies.find(({ beacon }) => beacon !== undefined && beacon.address === to)
      if (run !== undefined) return pad(run.implementation)
      const { functionName } = decodeFunctionData({ abi: TOKEN_VIEWS, data })
      if (functionName === 'allowance') return word(0n)
      return word(HELD + (isAfter && to !== null ? changeOf(kind, to) : 0n))
    }
  const oracles = pinned.markets.map(({ oracle, oracleCodeHash }) => ({
    address: oracle,
    codeHash: oracleCodeHash,
  }))
  const behind = proxies.flatMap(({ implementation, codeHash, beacon }) => [
    { address: implementation, codeHash },
    ...(beacon === undefined ? [] : [beacon]),
  ])
  const hashOf = (address: Address) =>
    [...pins, ...oracles, ...behind].find((pin) => pin.address === address)?.codeHash ?? null
  return {
    block: {
      number: 100n,
      hash: `0x${'bb'.repeat(32)}`,
      parentHash: '0x',
      timestampS: NOW_MS / 1_000 - 1,
      baseFeePerGasWei: 1n,
    },
    timestampS: NOW_MS / 1_000,
    pending: [],
    following: [],
    words: (request.slots ?? []).map(({ of }, index) => {
      const proxy = pins.find(({ address }) => address === of)?.proxy
      // Two words of each: what it runs, and its beacon.
      const runs =
        proxy?.beacon === undefined ? [proxy?.implementation, '0x00'] : ['0x00', proxy.beacon.address]
      return BigInt(runs[index % 2] ?? '0x00')
    }),
    before: request.before.map(answer(false)),
    bundle: request.bundle.map(() => ({ status: 'success', gasUsed: 60_000n, returnData: '0x', logs: [] })),
    after: request.after.map(answer(true)),
    codeHashes: (request.codeAt ?? []).map(hashOf),
  }
}

/** A kind of workflow that waits to be cleared, under rules, effects and simulation alone. */
export function waiting(kind: Kind, rules: Ruleset): FinalOptions {
  // What a judgement reads of its own has tests of its own.
  const sanity = new Map(
    [...rules.sanity].map(([type, { revalidations, counts }]) => [
      type,
      { ...PLAIN, revalidations, ...(counts === undefined ? {} : { counts }) },
    ]),
  )
  return {
    workflow: {
      role: rules.role,
      chainId: CHAIN_ID,
      signer: SELF,
      proposal: kind.proposal,
      prepared: freeze(answerOf(kind, kind.drafts)),
      ...(kind.name === 'report'
        ? { attestation: { digest: NAV_DIGEST, signature: `0x${'11'.repeat(65)}` } }
        : {}),
    },
    ruleset: { ...rules, sanity },
    signer: { nextNonce: 7, pending: [], maxFeePerGasWei: 10n, maxPriorityFeePerGasWei: 1n, standing: [] },
    nowMs: NOW_MS,
  }
}

/** Clear a kind of workflow with nodes that show what the attack says: the check that refuses it, or `cleared`. */
export async function clearBy(
  kind: Kind,
  rules: Ruleset,
  attack: ChainAttack | null,
): Promise<string | null> {
  const checked = await clearing(kind, rules, attack)
  return checked === null ? null : checked.ok ? 'cleared' : checked.check
}

/** The same with what it says; null where the attack does not fit. */
export async function clearing(
  kind: Kind,
  rules: Ruleset,
  attack: ChainAttack | null,
): Promise<Checked<unknown> | null> {
  const options = waiting(kind, rules)
  let fits = true
  const simulate = async (request: SimulationRequest) => {
    const honest = honestly(kind, request, rules.deployment)
    const shown = attack === null ? honest : attack.on(honest, request)
    if (shown === null) fits = false
    if (shown instanceof RolekeeperError) throw shown
    return shown ?? honest
  }
  const checked = await checkFinal(options, { nodes: { chainId: CHAIN_ID, simulate } })
  return fits ? checked : null
}

const withLogs =
  (...logs: readonly Log[]): ChainAttack['on'] =>
  (honest) => ({ ...honest, bundle: honest.bundle.map((ran) => ({ ...ran, logs })) })
export const withHead =
  (changes: Partial<SimulationResult['block']>): ChainAttack['on'] =>
  (honest) => ({
    ...honest,
    block: { ...honest.block, ...changes },
  })
/** Change what one kind of read says afterwards. */
const afterwards =
  (
    name: 'balanceOf' | 'allowance',
    change: (value: bigint, token: Address) => bigint | null,
  ): ChainAttack['on'] =>
  (honest, { after }) => {
    const of = after.map(({ data, to }) => ({
      to,
      is: decodeFunctionData({ abi: TOKEN_VIEWS, data }).functionName === name,
    }))
    if (of.every(({ is }) => !is)) return null
    const shown = honest.after.map((value, index) => {
      const read = of[index]
      if (read?.is !== true || value === null || read.to === null) return value
      const changed = change(BigInt(value), read.to)
      return changed === null ? null : word(changed)
    })
    return { ...honest, after: shown }
  }
const rejected = (reason: string) =>
  new RolekeeperError('node.simulation_rejected', 'rejected', { fix: 'none', facts: { reason } })

export const CHAIN_ATTACKS: readonly ChainAttack[] = [
  {
    name: 'other code is where we pinned ours',
    on: (honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => OTHER_CODE) }),
    check: 'code_changed',
  },
  {
    name: 'no code is where we pinned ours',
    incident: 'Parity wallet, 2017',
    on: (honest) => ({ ...honest, codeHashes: honest.codeHashes.map(() => null) }),
    check: 'code_changed',
  },
  {
    name: 'the last of the contracts has other code',
    on: (honest) => ({ ...honest, codeHashes: [...honest.codeHashes.slice(0, -1), OTHER_CODE] }),
    check: 'code_changed',
  },
  {
    name: 'the head is of half an hour ago',
    on: withHead({ timestampS: NOW_MS / 1_000 - 1_800 }),
    check: 'head_stale',
  },
  {
    name: 'the head is of tomorrow',
    on: withHead({ timestampS: NOW_MS / 1_000 + 86_400 }),
    check: 'clock_behind',
  },
  {
    name: 'the head is far ahead of the snapshot',
    on: withHead({ number: 10_000n }),
    check: 'snapshot_behind',
  },
  { name: 'the head is far behind the snapshot', on: withHead({ number: 1n }), check: 'node_behind' },
  {
    name: 'the call reverts',
    on: (honest) => ({ ...honest, bundle: honest.bundle.map((ran) => ({ ...ran, status: 'reverted' })) }),
    check: 'simulation_reverted',
  },
  {
    name: 'the last call is not shown at all',
    on: (honest) => ({ ...honest, bundle: honest.bundle.slice(0, -1) }),
    check: 'simulation_reverted',
  },
  {
    name: 'a token that nobody knows leaves us',
    on: withLogs(event('Transfer(address,address,uint256)', SELF, STRANGER, word(1n), STRANGER)),
    check: 'unknown_token_left',
  },
  {
    name: 'a collectible leaves us',
    on: withLogs({
      ...event('Transfer(address,address,uint256)', SELF, STRANGER, '0x', STRANGER),
      topics: [toEventSelector('Transfer(address,address,uint256)'), pad(SELF), pad(STRANGER), pad('0x07')],
    }),
    check: 'unknown_token_left',
  },
  {
    name: 'a stranger is approved on the way',
    incident: '0xbadc0de, 2022',
    on: withLogs(event('Approval(address,address,uint256)', SELF, STRANGER, word(1n), LOAN)),
    check: 'unknown_approval',
  },
  {
    name: 'an approval of a token that nobody knows is left',
    on: withLogs(event('Approval(address,address,uint256)', SELF, STRANGER, word(1n), STRANGER)),
    check: 'unknown_approval',
  },
  {
    name: 'an operator of everything is approved on the way',
    incident: 'OpenSea phishing, 2022',
    on: withLogs(event('ApprovalForAll(address,address,bool)', SELF, STRANGER, word(1n), LOAN)),
    check: 'unknown_approval',
  },
  {
    name: 'an allowance stands afterwards that was not there',
    incident: 'JaredFromSubway, 2026',
    on: afterwards('allowance', () => 1n),
    check: 'allowance_left',
  },
  {
    name: 'an allowance without end stands afterwards',
    incident: 'Multichain router, 2022',
    on: afterwards('allowance', () => 2n ** 256n - 1n),
    check: 'allowance_left',
  },
  {
    name: 'an allowance cannot be read afterwards',
    on: afterwards('allowance', () => null),
    check: 'read_failed',
  },
  {
    name: 'a balance cannot be read afterwards',
    on: afterwards('balanceOf', () => null),
    check: 'read_failed',
  },
  {
    name: 'one base unit more leaves than the request says',
    on: afterwards('balanceOf', (value, token) =>
      token === LOAN ? (value > HELD ? HELD : value) - 2n : value,
    ),
    check: 'token_left',
  },
  {
    name: 'everything leaves',
    on: afterwards('balanceOf', (value, token) => (token === LOAN ? 0n : value)),
    check: 'token_left',
  },
  {
    name: 'another token leaves',
    on: afterwards('balanceOf', (value, token) => (token === LOAN ? value : value - 2n)),
    check: 'token_left',
  },
  {
    name: 'we cannot pay for the gas',
    on: () => rejected('insufficient_funds'),
    check: 'insufficient_native',
  },
  {
    name: 'the base fee is above our offer',
    on: () => rejected('fee_below_base_fee'),
    check: 'fee_below_base_fee',
  },
  {
    name: 'one node shows what the others do not',
    on: () => new RolekeeperError('node.disagreement', 'The nodes do not agree.', { fix: 'none' }),
    check: 'nodes_disagree',
  },
]
