import type { PreparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { type Aim, type Attack, STRANGER } from './attack.ts'

const changed = (
  name: string,
  change: (answer: PreparedWorkflow, aim: Aim) => Partial<PreparedWorkflow> | null,
  check: string,
): Attack => ({
  name,
  on: (aim) => {
    const changes = change(aim.answer, aim)
    return changes === null ? null : { ...aim.answer, ...changes }
  },
  check,
})
const preflight = (name: string, changes: Partial<PreparedWorkflow['preflight']>, check: string): Attack =>
  changed(name, (answer) => ({ preflight: { ...answer.preflight, ...changes } }), check)
const freshness = (
  name: string,
  changes: Partial<PreparedWorkflow['preflight']['freshness']>,
  check: string,
): Attack =>
  changed(
    name,
    ({ preflight: honest }) => ({ preflight: { ...honest, freshness: { ...honest.freshness, ...changes } } }),
    check,
  )
const endsAfter = (name: string, ms: number): Attack =>
  changed(
    name,
    (answer) => ({ expiresAt: new Date(Date.parse(answer.expiresAt) - 30_000 + ms).toISOString() }),
    'expired',
  )

const BINDINGS: readonly Attack[] = [
  changed('says that it failed', () => ({ ok: false }), 'answer_not_ok'),
  changed('is for another workflow type', () => ({ workflowType: 'deposit' }), 'workflow_mismatch'),
  changed(
    'is for the same act of another role',
    ({ workflowType }) => {
      const other = workflowType.startsWith('role.vault_owner.') ? 'role.allocator.' : 'role.vault_owner.'
      return { workflowType: workflowType.replace(/^role\.\w+\./, other) }
    },
    'workflow_mismatch',
  ),
  changed(
    'is for a type whose name has a letter of another alphabet',
    ({ workflowType }) => ({ workflowType: workflowType.replace('o', 'о') }),
    'workflow_mismatch',
  ),
  changed(
    'is for a type of tomorrow',
    () => ({ workflowType: 'role.liquidator.liquidateV2' }),
    'workflow_mismatch',
  ),
  changed('is final already', () => ({ status: 'final_success' }), 'already_final'),
  changed('needs no transaction', () => ({ executionMode: 'metadata_only' }), 'execution_mode'),
  changed(
    'signs in with our wallet',
    () => ({ custodyBoundary: 'wallet_session_authenticated' }),
    'custody_boundary',
  ),
  changed('is of no snapshot', () => ({ snapshotHash: `0x${'00'.repeat(32)}` }), 'snapshot_hash_missing'),
  changed('names nothing to see it by', () => ({ canonicalPostconditions: [] }), 'postconditions_missing'),
  endsAfter('has ended', -1),
  endsAfter('ends at once', 0),
  endsAfter('ends before it could land', 2_999),
  changed('ended in 1970', () => ({ expiresAt: '1970-01-01T00:00:00.000Z' }), 'expired'),
]

const PREFLIGHTS: readonly Attack[] = [
  preflight('is blocked', { status: 'blocked', blockedReasons: ['market_paused'] }, 'preflight_blocked'),
  preflight('is blocked without a reason', { status: 'blocked' }, 'preflight_blocked'),
  preflight('passed, and names a reason', { blockedReasons: ['oracle_stale'] }, 'preflight_blocked'),
  preflight(
    'is blocked for a reason that clears the screen',
    { status: 'blocked', blockedReasons: ['\u001b[2J\u001b]52;c;aGFja2Vk\u0007'] },
    'preflight_blocked',
  ),
  freshness('is of a stale snapshot', { status: 'stale' }, 'stale_snapshot'),
  freshness('is of a missing snapshot', { status: 'missing' }, 'stale_snapshot'),
  freshness('is of a snapshot in a state nobody knows', { status: 'splendid' }, 'stale_snapshot'),
  freshness('is of a snapshot that is current in capitals', { status: 'CURRENT' }, 'stale_snapshot'),
  freshness('is of an old snapshot that it calls current', { lagSeconds: 86_400 }, 'stale_snapshot'),
  freshness('is of a snapshot one second too old', { lagSeconds: 21 }, 'stale_snapshot'),
  freshness(
    'is of a snapshot older than all time',
    { lagSeconds: Number.MAX_SAFE_INTEGER },
    'stale_snapshot',
  ),
  freshness('is of a snapshot of no block', { blockNumber: null }, 'snapshot_block_missing'),
  preflight(
    'wants a check that nobody knows',
    { revalidateAtExecution: ['moon_is_full'] },
    'revalidation_unknown',
  ),
  preflight('wants a check of every object', { revalidateAtExecution: ['toString'] }, 'revalidation_unknown'),
  preflight('wants a check without a name', { revalidateAtExecution: [''] }, 'revalidation_unknown'),
  changed(
    'wants a check that is another type’s',
    ({ preflight: honest, workflowType }) => ({
      preflight: {
        ...honest,
        revalidateAtExecution: [
          workflowType.endsWith('liquidate') ? 'claim_settleable' : 'position_liquidatable',
        ],
      },
    }),
    'revalidation_unknown',
  ),
]

/** The answer as JSON that no schema of ours takes. */
const shaped = (name: string, change: (answer: Record<string, unknown>) => unknown): Attack => ({
  name,
  on: ({ answer }) => ({ json: change(structuredClone<Record<string, unknown>>(answer)) }),
  check: 'service.garbage',
})
/** The same of its last intent. */
const intent = (name: string, changes: Readonly<Record<string, unknown>>): Attack =>
  shaped(name, (answer) => {
    const intents: unknown[] = Array.isArray(answer.transactions) ? answer.transactions : []
    return { ...answer, transactions: [...intents.slice(0, -1), { ...Object(intents.at(-1)), ...changes }] }
  })
const text = (
  name: string,
  change: (honest: string) => string,
  check: Attack['check'] = 'service.garbage',
): Attack => ({
  name,
  on: ({ answer }) => ({ text: change(JSON.stringify(answer)) }),
  check,
})
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

const SHAPES: readonly Attack[] = [
  shaped('is null', () => null),
  shaped('is a list', (answer) => [answer]),
  shaped('is a text', () => 'prepared'),
  shaped('has a member that nobody knows', (answer) => ({ ...answer, delegate: STRANGER })),
  shaped('lacks its preflight', ({ preflight: _none, ...answer }) => answer),
  shaped('lacks its intents', ({ transactions: _none, ...answer }) => answer),
  shaped('has intents by name', (answer) => ({ ...answer, transactions: { 0: answer.transactions } })),
  shaped('has an intent that is null', (answer) => ({ ...answer, transactions: [null] })),
  shaped('has more intents than any workflow', (answer) => ({
    ...answer,
    transactions: Array.from({ length: 5 }, () => Object(answer.transactions)[0]),
  })),
  shaped('has a status of its own', (answer) => ({ ...answer, status: 'signed' })),
  shaped('has a request id of 100 kB', (answer) => ({ ...answer, requestId: 'x'.repeat(100_000) })),
  shaped('has no request id', (answer) => ({ ...answer, requestId: '' })),
  shaped('has a request id that is a list', (answer) => ({ ...answer, requestId: ['wf-1'] })),
  shaped('has a snapshot hash a byte short', (answer) => ({
    ...answer,
    snapshotHash: `0x${'55'.repeat(31)}`,
  })),
  shaped('ends at a moment that is none', (answer) => ({ ...answer, expiresAt: 'soon' })),
  shaped('ends at a number', (answer) => ({ ...answer, expiresAt: 4_070_908_800_000 })),
  shaped('lags behind by less than nothing', (answer) => ({
    ...answer,
    preflight: {
      ...Object(answer.preflight),
      freshness: { status: 'current', lagSeconds: -60, blockNumber: '100' },
    },
  })),
  shaped('is of a block below zero', (answer) => ({
    ...answer,
    preflight: {
      ...Object(answer.preflight),
      freshness: { status: 'current', lagSeconds: 0, blockNumber: '-1' },
    },
  })),
  shaped('has postconditions without an entity', (answer) => ({
    ...answer,
    canonicalPostconditions: [{ field: 'x' }],
  })),
  intent('brings a nonce', { nonce: 0 }),
  intent('brings a gas price', { maxFeePerGas: '1000000000000' }),
  intent('brings a gas limit', { gas: '30000000' }),
  intent('brings an access list', { accessList: [] }),
  intent('brings an authorisation of EIP-7702', {
    authorizationList: [{ chainId: 0, address: STRANGER, nonce: 0 }],
  }),
  intent('brings a transaction type', { type: '0x4' }),
  intent('names its target twice', { to: STRANGER }),
  intent('has a sender', { from: STRANGER }),
  intent('has a value below zero', { value: '-1' }),
  intent('has a value in hexadecimal', { value: '0x0' }),
  intent('has a value in exponents', { value: '1e18' }),
  intent('has a value with a fraction', { value: '0.5' }),
  intent('has a value that is a number', { value: 0 }),
  intent('has a value of a thousand digits', { value: '9'.repeat(1_000) }),
  intent('has an order that is a text', { order: '0' }),
  intent('has an order below zero', { order: -1 }),
  intent('has an order between two numbers', { order: 0.5 }),
  intent('has a chain that is a text', { chainId: '31337' }),
  intent('has a target a byte short', { target: `0x${'99'.repeat(19)}` }),
  intent('has a target by name', { target: 'vault.eth' }),
  intent('has two targets', { target: [STRANGER] }),
  intent('has calldata of half a byte', { calldata: '0x123' }),
  intent('has calldata without its prefix', { calldata: '12345678' }),
  intent('has calldata with a line break', { calldata: '0x1234\n5678' }),
  intent('has calldata in digits of another alphabet', { calldata: '0x１２３４' }),
  intent('has a label of 100 kB', { label: 'x'.repeat(100_000) }),
  intent('is of a kind of its own', { transactionKind: 'delegate_call' }),
  intent('asks to sign a digest', { signing: { kind: 'eip712', digest: `0x${'11'.repeat(32)}` } }),
  text('is not JSON', (honest) => honest.slice(0, -1)),
  text('is two answers', (honest) => `${honest}${honest}`),
  text('is JSON with a comment', (honest) => `/* fine */${honest}`),
  text('is empty', () => ''),
  text('nests 200,000 deep', (honest) => honest.replace('"ok":true', `"ok":${nested(200_000)}`)),
  text(
    'is larger than a mebibyte',
    (honest) => honest.replace('"ok":true', `"ok":true${' '.repeat(1_048_577)}`),
    'service.too_large',
  ),
  text(
    'says twice what it is, and differs',
    (honest) =>
      honest
        .replace('"ok":true', '"ok":true,"workflowType":"deposit"')
        .replace(/"workflowType":"(?!deposit)[^"]+"/, '"workflowType":"deposit"'),
    'workflow_mismatch',
  ),
  text(
    'says twice whether it passed, and differs',
    (honest) => honest.replace('"blockedReasons":', '"status":"blocked","blockedReasons":'),
    'preflight_blocked',
  ),
]

/** What an answer may name: anything of 200 characters. The service's own ids are of a bounded alphabet. */
const requestId = (name: string, of: (honest: string) => string): Attack =>
  changed(name, ({ requestId: honest }) => ({ requestId: of(honest) }), 'request_id')

const NAMES: readonly Attack[] = [
  requestId('has a request id that is a path', () => '../../admin'),
  requestId('has a request id that is an encoded path', () => '..%2f..%2fadmin'),
  requestId('has a request id with a line break', (honest) => `${honest}\nsigned: yes`),
  requestId('has a request id with a query', (honest) => `${honest}?as=admin`),
  requestId('has a request id with a fragment', (honest) => `${honest}#`),
  requestId('has a request id that clears the screen', (honest) => `\u001b[2J${honest}`),
  requestId('has a request id that reads backwards', (honest) => `${honest}\u202e`),
  requestId('has a request id with a null', (honest) => `${honest}\u0000`),
  requestId('has a request id of blanks', () => '   '),
  requestId('has a request id with letters of another alphabet', () => 'wf-а'),
]

/** What success is seen by: of another entity, or of a value that is there anyway. */
const seenBy = (
  name: string,
  change: (honest: PreparedWorkflow['canonicalPostconditions'][number]) => object,
  check: string,
): Attack =>
  changed(
    name,
    ({ canonicalPostconditions }) => ({
      canonicalPostconditions: canonicalPostconditions.map((each) => ({ ...each, ...change(each) })),
    }),
    check,
  )

const POSTCONDITIONS: readonly Attack[] = [
  seenBy('is seen by an entity of a stranger', () => ({ entityId: STRANGER }), 'postcondition_entity'),
  seenBy(
    'is seen by an entity that begins like ours',
    ({ entityId }) => ({ entityId: `${entityId}:1` }),
    'postcondition_entity',
  ),
  seenBy('is seen by an entity of another kind', () => ({ entityType: 'market' }), 'postcondition_entity'),
  seenBy(
    'is seen by an entity whose name clears the screen',
    ({ entityId }) => ({ entityId: `\u001b[2J${entityId}` }),
    'postcondition_entity',
  ),
  seenBy(
    'is seen by a value of another form',
    () => ({ expected: { op: 'ne', value: '0' } }),
    'postcondition_value',
  ),
  seenBy('is seen by a value that is a list', () => ({ expected: ['1'] }), 'postcondition_value'),
  seenBy(
    'is seen by a value that everything has',
    () => ({ expected: { op: 'gte', value: '-1' } }),
    'postcondition_value',
  ),
  changed(
    'is seen by the success of a stranger beside its own',
    ({ canonicalPostconditions }) => ({
      canonicalPostconditions: [
        ...canonicalPostconditions,
        {
          entityType: 'credit_facility',
          entityId: STRANGER,
          field: 'debtShares',
          expected: { op: 'lte', value: '0' },
        },
      ],
    }),
    'postcondition_entity',
  ),
]

/** Answers that do not answer our request, or are none. */
export const ANSWER_ATTACKS: readonly Attack[] = [
  ...BINDINGS,
  ...PREFLIGHTS,
  ...SHAPES,
  ...NAMES,
  ...POSTCONDITIONS,
]
