import { encodeFunctionData, erc20Abi, type Hex, maxUint256, parseAbi } from 'viem'
import {
  type Attack,
  approves,
  argument,
  creates,
  lastOf,
  lookalike,
  STRANGER,
  times,
  to,
  withEach,
  withLast,
  ZERO,
} from './attack.ts'
import { typed } from './signatures.ts'

const SAFE = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
])
const ADMIN = parseAbi([
  'function transferOwnership(address newOwner)',
  'function putCurEpochConPubKeyBytes(bytes keys)',
  'function initWallet(address[] owners, uint256 required, uint256 dayLimit)',
  'function kill(address to)',
  'function setApprovalForAll(address operator, bool approved)',
  'function increaseAllowance(address spender, uint256 amount)',
  'function emergencyCommit(uint256 id)',
  'function setPriceOracle(address oracle)',
  'function swap(uint256 amountIn, uint256 minAmountOut, address[] path, address to, uint256 deadline)',
])
const encode = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ADMIN, functionName, args } as Parameters<typeof encodeFunctionData>[0])

/** The action's call is another one, to the same contract. */
const instead = (
  incident: string,
  name: string,
  calldata: (self: Hex, honest: Hex, there: Hex) => Hex,
): Attack => ({
  incident,
  name,
  on: (aim) => {
    const { target, calldata: honest } = lastOf(aim.answer)
    return target === null ? null : withLast(aim.answer, { calldata: calldata(aim.self, honest, target) })
  },
  check: 'function_not_allowed',
})
/** The first approval is another one. */
const approval = (
  incident: string,
  name: string,
  args: (spender: Hex, amount: bigint) => readonly [Hex, bigint],
  check: string,
): Attack => ({
  incident,
  name,
  on: ({ answer }) => {
    const first = answer.transactions.find(approves)
    if (first === undefined) return null
    const honest = [`0x${first.calldata.slice(34, 74)}`, BigInt(`0x${first.calldata.slice(74)}`)] as const
    const calldata = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: args(...honest) })
    return withEach(answer, (intent) => (intent === first ? { ...intent, calldata } : intent))
  },
  check,
})
const named = (incident: string, attack: Attack): Attack => ({ ...attack, incident })
/** An intent in front of the honest ones. */
const inFront = (incident: string, name: string, calldata: (self: Hex) => Hex, check: string): Attack => ({
  incident,
  name,
  on: ({ answer, ruleset, self }) => {
    const target = ruleset.deployment.assets[0]?.address ?? ZERO
    const { signing: _none, ...plain } = lastOf(answer)
    const first = {
      ...plain,
      order: 0,
      target,
      calldata: calldata(self),
      transactionKind: 'contract_call',
    } as const
    const rest = answer.transactions.map((intent) => ({ ...intent, order: intent.order + 1 }))
    return { ...answer, transactions: [first, ...rest] }
  },
  check: ({ answer, proposal }) =>
    // Two calls are what a raise of a bid has: its first must then be an approval.
    proposal.workflowType.endsWith('RfqReplaceBid') && answer.transactions.length === 1
      ? check
      : 'sequence_mismatch',
})

/** What real thefts and accidents had the victim sign, as a hostile service would prepare it for us. */
export const INCIDENT_ATTACKS: readonly Attack[] = [
  instead('Bybit, 2025', 'has a Safe delegate to new code behind the same call', (_self, honest, there) =>
    encodeFunctionData({
      abi: SAFE,
      functionName: 'execTransaction',
      args: [there, 0n, honest, 1, 0n, 0n, 0n, ZERO, ZERO, '0x'],
    }),
  ),
  {
    incident: 'WazirX, 2024',
    name: 'shows the honest label, and calls an implementation of the attacker',
    on: (aim) =>
      creates(aim) ? null : withLast(aim.answer, { target: STRANGER, label: lastOf(aim.answer).label }),
    check: 'target_not_allowed',
  },
  instead('Radiant Capital, 2024', 'gives the lending pool away under another label', () =>
    encode('transferOwnership', [STRANGER]),
  ),
  approval(
    '0xbadc0de, 2022',
    'has the bot approve its attacker',
    (_spender, amount) => [STRANGER, amount],
    'approval_spender',
  ),
  approval(
    'JaredFromSubway, 2026',
    'has the bot approve more than one action takes, to take the rest later',
    (spender, amount) => [spender, amount * 2n + 10n ** 15n],
    'approval_not_exact',
  ),
  approval(
    'Multichain router, 2022',
    'has a router approved without end',
    (spender) => [spender, maxUint256],
    'approval_unlimited',
  ),
  inFront(
    'BadgerDAO, 2021',
    'slips an increase of an allowance in front',
    () => encode('increaseAllowance', [STRANGER, maxUint256]),
    'function_not_allowed',
  ),
  inFront(
    'KyberSwap front end, 2022',
    'slips an approval of a stranger in front',
    () => encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [STRANGER, maxUint256] }),
    'approval_spender',
  ),
  inFront(
    'Ledger Connect Kit, 2023',
    'slips a transfer of everything in front',
    () => encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [STRANGER, maxUint256] }),
    'function_not_allowed',
  ),
  instead('OpenSea phishing, 2022', 'approves an operator of all tokens', () =>
    encode('setApprovalForAll', [STRANGER, true]),
  ),
  typed(
    'has the holder sign an order that sells all for nothing',
    (data) => ({
      ...data,
      primaryType: 'OrderComponents',
      types: {
        OrderComponents: [
          { name: 'offerer', type: 'address' },
          { name: 'zone', type: 'address' },
        ],
      },
      message: { offerer: STRANGER, zone: STRANGER },
    }),
    'OpenSea phishing, 2022',
  ),
  typed(
    'has the holder sign a permit for a batch of tokens',
    (data) => ({
      ...data,
      primaryType: 'PermitBatch',
      types: {
        PermitBatch: [
          { name: 'spender', type: 'address' },
          { name: 'sigDeadline', type: 'uint256' },
        ],
      },
      message: { spender: STRANGER, sigDeadline: String(maxUint256) },
    }),
    'Inferno Drainer, 2023',
  ),
  {
    incident: 'address poisoning, 2024',
    name: 'goes to an address that begins and ends like the right one',
    on: (aim) => {
      const { target } = lastOf(aim.answer)
      return target === null ? null : withLast(aim.answer, { target: lookalike(target) })
    },
    check: 'target_not_allowed',
  },
  named(
    'address poisoning, 2024',
    argument('liquidate', 'recipient', 'pays who begins and ends like us', (_value, { self }) =>
      lookalike(self),
    ),
  ),
  named(
    'Synthetix sKRW, 2019',
    argument('submitReport', 'report.value', 'reports a thousand times the value', times(1_000n)),
  ),
  named(
    'Compound DAI, 2020',
    argument(
      'submitReport',
      'report.value',
      'reports a third more than there is',
      (value) => (BigInt(String(value)) * 13n) / 10n,
    ),
  ),
  named(
    'Mango Markets, 2022',
    argument('bidAcquisition', 'assets', 'pays what a pumped price says', times(13n)),
  ),
  named('Black Thursday, 2020', argument('bid', 'assets', 'bids nothing for a lot', to(0n))),
  named(
    'Black Thursday, 2020',
    argument('liquidate', 'minCollateralOut', 'takes nothing for what it repays', to(0n)),
  ),
  {
    incident: 'Nomad, 2022',
    name: 'is proven by a root of zeros',
    on: ({ answer }) => ({ ...answer, snapshotHash: `0x${'00'.repeat(32)}` }),
    check: 'snapshot_hash_missing',
  },
  instead('Poly Network, 2021', 'has the manager put its keepers in place', () =>
    encode('putCurEpochConPubKeyBytes', ['0x1234']),
  ),
  instead('Parity wallet, 2017', 'makes the library a wallet of its own', () =>
    encode('initWallet', [[STRANGER], 1n, maxUint256]),
  ),
  instead('Parity wallet, 2017', 'ends the library that all rely on', () => encode('kill', [STRANGER])),
  instead('Beanstalk, 2022', 'carries out a proposal of the attacker at once', () =>
    encode('emergencyCommit', [1n]),
  ),
  instead('Compound cETH, 2022', 'puts another oracle under the market', () =>
    encode('setPriceOracle', [STRANGER]),
  ),
  instead('sandwiched swaps', 'swaps for whatever comes out, for ever', (self) =>
    encode('swap', [10n ** 18n, 1n, [STRANGER], self, maxUint256]),
  ),
  {
    incident: 'Optimism and Wintermute, 2022',
    name: 'is for our address on another chain',
    on: ({ answer }) => withEach(answer, (intent) => ({ ...intent, chainId: 10 })),
    check: 'chain_mismatch',
  },
  {
    incident: 'Curve front end, 2022',
    name: 'keeps the call, and lets a stranger take what is approved',
    on: ({ answer }) => {
      const first = answer.transactions.find(approves)
      if (first === undefined) return null
      const calldata: Hex = `${first.calldata.slice(0, 34) as Hex}${STRANGER.slice(2)}${first.calldata.slice(74)}`
      return withEach(answer, (intent) => (intent === first ? { ...intent, calldata } : intent))
    },
    check: 'approval_spender',
  },
]
