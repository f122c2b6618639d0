import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  maxUint160,
  maxUint256,
  parseAbi,
  stringToHex,
} from 'viem'
import {
  type Aim,
  type Attack,
  approves,
  callsOf,
  codeBytesOf,
  creates,
  lastOf,
  lookalike,
  type Served,
  STRANGER,
  withEach,
  withLast,
  ZERO,
} from './attack.ts'

const whereCalled = (check: string) => (aim: Aim) => (creates(aim) ? 'contract_creation' : check)

/** The action goes elsewhere. */
const target = (name: string, of: (aim: Aim) => Address | null | undefined): Attack => ({
  name,
  on: (aim) => {
    const there = of(aim)
    return there === undefined || there === lastOf(aim.answer).target
      ? null
      : withLast(aim.answer, { target: there })
  },
  check: whereCalled('target_not_allowed'),
})
const otherPin =
  (path: 'assets' | 'markets' | 'vaults' | 'funds' | 'contracts') =>
  ({ ruleset, answer }: Aim) =>
    ruleset.deployment[path].find(({ address }) => address !== lastOf(answer).target)?.address

const TARGETS: readonly Attack[] = [
  target('goes to a contract of a stranger', () => STRANGER),
  target('goes to nobody at all', () => ZERO),
  target('goes to ourselves', ({ self }) => self),
  target('goes to what looks like the contract', ({ answer }) => {
    const { target: there } = lastOf(answer)
    return there === null ? undefined : lookalike(there)
  }),
  target('goes to a token of ours', otherPin('assets')),
  target('goes to another market of ours', otherPin('markets')),
  target('goes to another vault of ours', otherPin('vaults')),
  target('goes to another fund of ours', otherPin('funds')),
  target('goes to another contract of ours', otherPin('contracts')),
  target('goes to the precompile that recovers signers', () => `0x${'00'.repeat(19)}01`),
  target('goes to the precompile that copies its input', () => `0x${'00'.repeat(19)}04`),
  target('goes to Permit2', () => '0x000000000022d473030f116ddee9f6b43ac78ba3'),
  target('goes to the singleton that deploys by CREATE2', () => '0x4e59b44847b379578588920ca78fbf26c0b4956c'),
  target('goes to Multicall3', () => '0xca11bde05977b3631167028862be2a173976ca11'),
  target('goes to the entry point of smart accounts', () => '0x0000000071727de22e5e9d8baf0edac6f37da032'),
]

/** The action calls another function, with its own arguments behind it or with others. */
const calling = (name: string, of: (aim: Aim, honest: Hex) => Hex): Attack => ({
  name,
  on: (aim) => {
    if (creates(aim)) return null
    const honest = lastOf(aim.answer).calldata
    const calldata = of(aim, honest)
    // Where that is what we asked for, its arguments are attacked.
    return calldata.slice(0, 10) === honest.slice(0, 10) ? null : withLast(aim.answer, { calldata })
  },
  check: 'function_not_allowed',
})
const ABI = parseAbi([
  'function transfer(address to, uint256 amount)',
  'function transferFrom(address from, address to, uint256 amount)',
  'function increaseAllowance(address spender, uint256 amount)',
  'function setApprovalForAll(address operator, bool approved)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function approve(address token, address spender, uint160 amount, uint48 expiration)',
  'function multicall(bytes[] data)',
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls)',
  'function execute(address to, uint256 value, bytes data)',
  'function execute(bytes32 mode, bytes executionCalldata)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  'function transferOwnership(address newOwner)',
  'function renounceOwnership()',
  'function grantRole(bytes32 role, address account)',
  'function upgradeToAndCall(address implementation, bytes data)',
  'function setOwner(address owner)',
  'function mint(address to, uint256 amount)',
  'function redeem(uint256 shares, address receiver, address owner)',
  'function withdraw(uint256 assets, address receiver, address owner)',
])
const encode = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0])
const ROLE = `0x${'00'.repeat(32)}`

const FUNCTIONS: readonly Attack[] = [
  calling('calls a function that nobody knows', (_aim, honest) => `0x12345678${honest.slice(10)}`),
  calling('calls nothing', () => '0x'),
  calling('calls half a function', (_aim, honest) => `0x${honest.slice(2, 6)}`),
  calling('calls a function whose name is one bit off', (_aim, honest) => {
    const bit = (Number.parseInt(honest.slice(9, 10), 16) ^ 1).toString(16)
    return `0x${honest.slice(2, 9)}${bit}${honest.slice(10)}`
  }),
  calling('transfers instead', () => encode('transfer', [STRANGER, 1n])),
  calling('transfers from us instead', ({ self }) => encode('transferFrom', [self, STRANGER, maxUint256])),
  calling('raises an allowance instead', () => encode('increaseAllowance', [STRANGER, maxUint256])),
  calling('approves an operator of everything instead', () => encode('setApprovalForAll', [STRANGER, true])),
  calling('submits a permit instead', ({ self }) =>
    encode('permit', [self, STRANGER, maxUint256, maxUint256, 27, ROLE, ROLE]),
  ),
  calling('approves at Permit2 instead', ({ self }) =>
    encode('approve', [self, STRANGER, maxUint160, 2 ** 48 - 1]),
  ),
  calling('wraps the call in a multicall', (_aim, honest) => encode('multicall', [[honest]])),
  calling('wraps the call and a theft in an aggregate', ({ answer }, honest) =>
    encode('aggregate3', [
      [
        { target: lastOf(answer).target, allowFailure: false, callData: honest },
        { target: STRANGER, allowFailure: true, callData: encode('transfer', [STRANGER, 1n]) },
      ],
    ]),
  ),
  calling('wraps the call in an execution', ({ answer }, honest) =>
    encode('execute', [lastOf(answer).target, 0n, honest]),
  ),
  calling('delegates the call of a smart account', ({ answer }, honest) =>
    encodeFunctionData({
      abi: [ABI[9]],
      functionName: 'execute',
      args: [`0xff${'00'.repeat(31)}`, `0x${lastOf(answer).target?.slice(2)}${honest.slice(2)}`],
    }),
  ),
  calling('wraps the call in the transaction of a Safe', ({ answer }, honest) =>
    encode('execTransaction', [lastOf(answer).target, 0n, honest, 0, 0n, 0n, 0n, ZERO, ZERO, '0x']),
  ),
  calling('gives the contract away', () => encode('transferOwnership', [STRANGER])),
  calling('gives the contract to nobody', () => encode('renounceOwnership', [])),
  calling('grants its highest role', () => encode('grantRole', [ROLE, STRANGER])),
  calling('puts other code behind the contract', () => encode('upgradeToAndCall', [STRANGER, '0x'])),
  calling('names another owner', () => encode('setOwner', [STRANGER])),
  calling('mints to a stranger', () => encode('mint', [STRANGER, maxUint256])),
  calling('redeems our shares to a stranger', ({ self }) => encode('redeem', [1n, STRANGER, self])),
  calling('withdraws for our shares to a stranger', ({ self }) => encode('withdraw', [1n, STRANGER, self])),
]

/** The action's bytes, not quite those that its arguments have. */
const bytes = (name: string, of: (honest: Hex, aim: Aim) => Hex | null): Attack => ({
  name,
  on: (aim) => {
    const calldata = of(lastOf(aim.answer).calldata, aim)
    return calldata === null || calldata === lastOf(aim.answer).calldata
      ? null
      : withLast(aim.answer, { calldata })
  },
  check: 'calldata_not_canonical',
})
const argumentsAt = (aim: Aim): number => (creates(aim) ? codeBytesOf(aim) : 4)
/** Set a byte of a word of the arguments; null where there is no such word, or the byte is set. */
const dirty = (honest: Hex, aim: Aim, word: number, byte: number, value = '01'): Hex | null => {
  const at = 2 + 2 * (argumentsAt(aim) + 32 * word + byte)
  if (at >= honest.length || honest.slice(at, at + 2) !== '00') return null
  return `0x${honest.slice(2, at)}${value}${honest.slice(at + 2)}`
}
/** The place of the first argument of a static type; null where there is none. */
const wordOf = (aim: Aim, types: RegExp): number | null => {
  const call = callsOf(aim).at(-1)
  if (call === undefined || call.abi.inputs.some(({ type }) => !/^(address|u?int\d+|bool)$/.test(type)))
    return null
  const at = call.abi.inputs.findIndex(({ type }) => types.test(type))
  return at < 0 ? null : at
}
const dirtyArgument = (name: string, types: RegExp, byte: number, value?: string): Attack =>
  bytes(name, (honest, aim) => {
    const word = wordOf(aim, types)
    return word === null ? null : dirty(honest, aim, word, byte, value)
  })

const ENCODINGS: readonly Attack[] = [
  bytes('has a byte behind its arguments', (honest) => `${honest}00`),
  bytes('has a word behind its arguments', (honest) => `${honest}${'00'.repeat(32)}`),
  bytes('has a second call behind the first', (honest) => `${honest}${honest.slice(2)}`),
  bytes('has a text behind its arguments', (honest) => `${honest}${stringToHex('referral').slice(2)}`),
  bytes('lacks its last byte', (honest, aim) =>
    honest.length > 2 + 2 * argumentsAt(aim) ? `0x${honest.slice(2, -2)}` : null,
  ),
  bytes('lacks its last word', (honest, aim) =>
    honest.length > 2 + 2 * argumentsAt(aim) ? `0x${honest.slice(2, -64)}` : null,
  ),
  bytes('has no arguments', (honest, aim) => `0x${honest.slice(2, 2 + 2 * argumentsAt(aim))}`),
  dirtyArgument('has a bit above an address', /^address$/, 0),
  dirtyArgument('has a bit right above an address', /^address$/, 11),
  dirtyArgument('has a boolean that is two', /^bool$/, 30),
  dirtyArgument('has a number too wide for its type', /^uint(8|16|32|64)$/, 0, 'ff'),
  bytes('has its list elsewhere', (honest, aim) => {
    if (callsOf(aim).at(-1)?.abi.name !== 'reallocate') return null
    // Both lists begin where the second one does: the first is read twice, or the second.
    const [head, one, two] = [honest.slice(0, 10), honest.slice(10, 74), honest.slice(74, 138)]
    return one === two ? null : (`${head}${two}${two}${honest.slice(138)}` as Hex)
  }),
  bytes('has a list of more elements than bytes', (honest, aim) => {
    if (callsOf(aim).at(-1)?.abi.name !== 'reallocate') return null
    return `0x${honest.slice(2, 138)}${'ff'.repeat(32)}${honest.slice(202)}`
  }),
  bytes('has a text whose padding says something', (honest, aim) => {
    if (callsOf(aim).at(-1)?.abi.name !== 'pauseShareMobility') return null
    return `0x${honest.slice(2).replace(/(616e206175646974)00/, '$161')}`
  }),
]

const withApproval =
  (change: (spender: Address, amount: bigint, aim: Aim) => readonly [Address, bigint] | null) =>
  (aim: Aim): Served | null => {
    const { answer } = aim
    const first = answer.transactions.find(approves)
    if (first === undefined) return null
    const spender: Address = `0x${first.calldata.slice(34, 74)}`
    const args = change(spender, BigInt(`0x${first.calldata.slice(74)}`), aim)
    if (args === null) return null
    const calldata = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args })
    return withEach(answer, (each) => (each === first ? { ...first, calldata } : each))
  }
const spender = (name: string, of: (spender: Address, aim: Aim) => Address | undefined): Attack => ({
  name,
  on: withApproval((honest, amount, aim) => {
    const other = of(honest, aim)
    return other === undefined || other === honest ? null : [other, amount]
  }),
  check: 'approval_spender',
})
/** A raise of a bid approves what it adds, which only the simulation shows: the static guard bounds it by the bid. */
const amount = (name: string, of: (amount: bigint) => bigint, check = 'approval_not_exact'): Attack => ({
  name,
  on: withApproval((honest, exact, { proposal }) => {
    const isBoundOnly = proposal.workflowType.endsWith('RfqReplaceBid')
    const other = of(isBoundOnly ? BigInt(String(proposal.input.bidAssets)) : exact)
    return other < BigInt(String(proposal.input.bidAssets ?? 0)) && isBoundOnly ? null : [honest, other]
  }),
  check,
})

const APPROVALS: readonly Attack[] = [
  spender('approves a stranger', () => STRANGER),
  spender('approves ourselves', (_honest, { self }) => self),
  spender('approves nobody', () => ZERO),
  spender('approves who looks like the contract', (honest) => lookalike(honest)),
  spender(
    'approves another contract of ours',
    (honest, { ruleset }) => ruleset.deployment.vaults.find(({ address }) => address !== honest)?.address,
  ),
  spender(
    'approves the token itself',
    (_honest, { answer }) => answer.transactions.find(approves)?.target ?? undefined,
  ),
  spender('approves Permit2', () => '0x000000000022d473030f116ddee9f6b43ac78ba3'),
  amount('approves everything', () => maxUint256, 'approval_unlimited'),
  amount('approves everything but one', () => maxUint256 - 1n),
  amount('approves all that Permit2 can count', () => maxUint160),
  amount('approves one base unit more than the action takes', (exact) => exact + 1n),
  amount('approves one base unit less than the action takes', (exact) => exact - 1n),
  amount('approves a thousand times what the action takes', (exact) => exact * 1_000n),
  amount('approves nothing', () => 0n),
  {
    name: 'approves another token',
    on: ({ answer, ruleset }) => {
      const first = answer.transactions.find(approves)
      const other = ruleset.deployment.assets.find(({ address }) => address !== first?.target)?.address
      if (first === undefined || other === undefined) return null
      return withEach(answer, (each) => (each === first ? { ...first, target: other } : each))
    },
    check: 'target_not_allowed',
  },
  {
    name: 'transfers where it should approve',
    on: ({ answer }) => {
      const first = answer.transactions.find(approves)
      if (first === undefined) return null
      return withEach(answer, (each) =>
        each === first ? { ...first, calldata: `0xa9059cbb${first.calldata.slice(10)}` } : each,
      )
    },
    check: 'function_not_allowed',
  },
]

const SEQUENCES: readonly Attack[] = [
  {
    name: 'has one intent more, the same again',
    on: ({ answer }) => {
      const order = answer.transactions.length
      return { ...answer, transactions: [...answer.transactions, { ...lastOf(answer), order }] }
    },
    // Two calls are what a raise of a bid has: its first must then be an approval.
    check: ({ answer, proposal }) =>
      proposal.workflowType.endsWith('RfqReplaceBid') && answer.transactions.length === 1
        ? 'target_not_allowed'
        : 'sequence_mismatch',
  },
  {
    name: 'has a transfer to a stranger behind it',
    on: ({ answer, ruleset }) => {
      const order = answer.transactions.length
      const calldata = encode('transfer', [STRANGER, 1n])
      const token = ruleset.deployment.assets[0]?.address ?? ZERO
      const theft = {
        ...lastOf(answer),
        order,
        target: token,
        calldata,
        transactionKind: 'contract_call',
      } as const
      const { signing: _none, ...plain } = theft
      return { ...answer, transactions: [...answer.transactions, plain] }
    },
    check: ({ answer, proposal }) =>
      proposal.workflowType.endsWith('RfqReplaceBid') && answer.transactions.length === 1
        ? 'target_not_allowed'
        : 'sequence_mismatch',
  },
  {
    name: 'has nothing to sign',
    on: ({ answer }) => ({ ...answer, transactions: [] }),
    check: 'sequence_mismatch',
  },
  {
    name: 'lacks the action behind its approval',
    on: ({ answer }) =>
      answer.transactions.length < 2 ? null : { ...answer, transactions: answer.transactions.slice(0, -1) },
    check: ({ proposal }) =>
      proposal.workflowType.endsWith('RfqReplaceBid') ? 'target_not_allowed' : 'sequence_mismatch',
  },
  {
    name: 'approves in a second intent',
    on: ({ answer }) =>
      answer.transactions.length < 2
        ? null
        : withEach(answer, (intent) => ({ ...intent, order: answer.transactions.length - 1 - intent.order })),
    check: 'target_not_allowed',
  },
  {
    name: 'numbers its intents from one',
    on: ({ answer }) => withEach(answer, (intent) => ({ ...intent, order: intent.order + 1 })),
    check: 'intent_order',
  },
  {
    name: 'numbers its intents alike',
    on: ({ answer }) =>
      answer.transactions.length < 2 ? null : withEach(answer, (intent) => ({ ...intent, order: 0 })),
    check: 'intent_order',
  },
]

/** The envelope of every intent. */
const ENVELOPES: readonly Attack[] = [
  {
    name: 'sends a wei along',
    on: ({ answer }) => withLast(answer, { value: '1' }),
    check: 'value_above_cap',
  },
  {
    name: 'sends a coin along',
    on: ({ answer }) => withLast(answer, { value: String(10n ** 18n) }),
    check: 'value_above_cap',
  },
  {
    name: 'sends all coin there is along',
    on: ({ answer }) => withLast(answer, { value: String(maxUint256) }),
    check: 'value_above_cap',
  },
  {
    name: 'sends a wei with the first intent',
    on: ({ answer }) =>
      withEach(answer, (intent, index) => (index === 0 ? { ...intent, value: '1' } : intent)),
    check: 'value_above_cap',
  },
  { name: 'is for mainnet', on: ({ answer }) => withLast(answer, { chainId: 1 }), check: 'chain_mismatch' },
  {
    name: 'is for another chain in its first intent',
    on: ({ answer }) =>
      withEach(answer, (intent, index) => (index === 0 ? { ...intent, chainId: 8_453 } : intent)),
    check: 'chain_mismatch',
  },
  {
    name: 'is for a chain whose number wraps round to ours',
    on: ({ answer }) => withLast(answer, { chainId: lastOf(answer).chainId + 2 ** 32 }),
    check: 'chain_mismatch',
  },
  {
    name: 'creates what should be called, or calls what should be created',
    on: (aim) =>
      withLast(
        aim.answer,
        creates(aim)
          ? { transactionKind: 'contract_call', target: STRANGER }
          : { transactionKind: 'contract_deployment', target: null },
      ),
    check: 'contract_creation',
  },
  {
    name: 'says that it creates, and has a target',
    on: (aim) => (creates(aim) ? null : withLast(aim.answer, { transactionKind: 'contract_deployment' })),
    check: 'contract_creation',
  },
  {
    name: 'says that it calls, and has no target',
    on: ({ answer }) => withLast(answer, { transactionKind: 'contract_call', target: null }),
    check: 'contract_creation',
  },
]

const code = (name: string, of: (calldata: Hex, codeBytes: number) => Hex): Attack => ({
  name,
  on: (aim) =>
    creates(aim)
      ? withLast(aim.answer, { calldata: of(lastOf(aim.answer).calldata, codeBytesOf(aim)) })
      : null,
  check: 'creation_code_changed',
})

const CREATIONS: readonly Attack[] = [
  code('deploys code with its last byte changed', (calldata, codeBytes) => {
    const at = 2 * codeBytes
    return `0x${calldata.slice(2, at)}00${calldata.slice(at + 2)}`
  }),
  code('deploys code with its first byte changed', (calldata) => `0xfe${calldata.slice(4)}`),
  code('deploys code with an instruction in front', (calldata) => `0x5b${calldata.slice(2)}`),
  code('deploys nothing', () => '0x'),
  code('deploys a contract that ends itself', () => '0x33ff'),
  code('deploys the code cut short', (calldata, codeBytes) => `0x${calldata.slice(2, 2 * codeBytes)}`),
  code(
    'deploys a proxy to a stranger',
    () => `0x363d3d373d3d3d363d73${'99'.repeat(20)}5af43d82803e903d91602b57fd5bf3`,
  ),
]

/** Answers whose calls are not those of the policy. */
export const CALL_ATTACKS: readonly Attack[] = [
  ...TARGETS,
  ...FUNCTIONS,
  ...ENCODINGS,
  ...APPROVALS,
  ...SEQUENCES,
  ...ENVELOPES,
  ...CREATIONS,
]
