import { type Address, encodeAbiParameters, numberToHex, pad } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MinedLog } from '../../src/chain/nodes.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { type ConcludeDeps, conclude } from '../../src/pipeline/conclude.ts'
import { LIQUIDATED_TOPIC } from '../../src/pipeline/transactions/effects.ts'
import { revocationPayload } from '../../src/pipeline/transactions/transaction.ts'
import type { Inclusion, Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'
import { frozenJournal } from '../support/frozen-journal.ts'
import {
  attemptOf,
  FEE_POLICY,
  MARKET,
  proposalOf,
  SIGNER,
  slotOf,
  TOKEN,
  workflowOf,
} from '../support/workflows.ts'

let journal: Journal
beforeEach(async () => {
  journal = frozenJournal(openSqliteJournal(newDirectory()))
  await journal.adoptNonce(31_337, SIGNER, 7)
})
afterEach(() => journal.close())

const hashOf = (nonce: number) => numberToHex(nonce, { size: 32 })
const endOf = (nonce: number, changes: Partial<Inclusion> = {}): Inclusion => ({
  hash: hashOf(nonce),
  purpose: 'payload',
  blockNumber: BigInt(nonce),
  blockHash: hashOf(0),
  status: 'success',
  gasUsed: 10n,
  effectiveGasPriceWei: 3n,
  tokens: [],
  ...changes,
})
const finalSlot = (
  index: number,
  inclusion: Partial<Inclusion> | null,
  changes: Partial<Slot> = {},
): Slot => {
  const nonce = 7 + index
  const digest = numberToHex(100 + nonce, { size: 32 })
  return slotOf({
    index,
    nonce,
    state: 'final',
    attempts: [attemptOf({ digest, state: 'sent', raw: '0x01', hash: hashOf(nonce) })],
    ...(inclusion === null ? {} : { inclusion: endOf(nonce, inclusion) }),
    ...changes,
  })
}

const approvalOf = (token: `0x${string}`) =>
  revocationPayload({ token, spender: MARKET, assets: 5n }).data.replace(/0$/, '5') as `0x${string}`

/** An approval that landed. */
const approved = (changes: Partial<Slot> = {}): Slot => {
  const slot = finalSlot(0, {}, changes)
  return { ...slot, payload: { ...slot.payload, to: TOKEN, data: approvalOf(TOKEN) } }
}

const createWorld = () => {
  const world = {
    /** Of each token; as a node that does not know it says `0x`. */
    allowance: 0n as bigint | '0x' | null,
    baseFeePerGasWei: 1_000_000_000n,
    alarms: [] as string[],
    safe: [] as string[],
    /** Called while the nodes are asked for an allowance. */
    asked: () => {},
    stands: true as boolean | null,
    /** What markets logged, where nodes say so. */
    logs: [] as MinedLog[] | null,
  }
  const deps: ConcludeDeps = {
    nowMs: () => 5_000,
    clock: { sleep: () => new Promise(() => {}) },
    baseFeePerGasWei: () => world.baseFeePerGasWei,
    fees: FEE_POLICY,
    nodes: {
      calls: async (calls) => {
        world.asked()
        return calls.map(() =>
          typeof world.allowance === 'bigint' ? numberToHex(world.allowance, { size: 32 }) : world.allowance,
        )
      },
      logs: async ({ addresses, topic, fromBlock, toBlock }) => {
        if (world.logs === null) throw new RolekeeperError('node.quorum_missing', 'too few', { fix: 'x' })
        return world.logs.filter(
          ({ address, topics, blockNumber }) =>
            addresses.includes(address) &&
            topics[0] === topic &&
            blockNumber >= fromBlock &&
            blockNumber <= toBlock,
        )
      },
    },
    stands: () => world.stands,
    journal,
    alarm: (error) => world.alarms.push(error.code),
    deployment: { assets: [] },
    safe: (signer, { check, workflowId }) => world.safe.push(`${signer} ${check} ${workflowId}`),
  }
  return { world, deps }
}
let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

/** A workflow in flight whose claim is in the journal, as it is after its slots ended. */
const inFlight = async (slots: readonly Slot[], changes: Partial<Workflow> = {}): Promise<Workflow> => {
  const allowances = [{ token: TOKEN, spender: MARKET, assets: 5n }]
  const base = workflowOf('in_flight')
  const clearance = base.clearance === undefined ? undefined : { ...base.clearance, allowances }
  const workflow = { ...base, ...(clearance === undefined ? {} : { clearance }), ...changes, slots }
  await journal.open(workflowOf('cleared'))
  const claimed = await journal.claim(workflow, {
    workflowId: workflow.id,
    role: 'liquidator',
    atMs: 1_000,
    usdMicros: 1_000n,
    gasWei: 9_999n,
    reverted: false,
  })
  if (claimed === 'lost') throw new TypeError('lost')
  return claimed
}
const concluded = async (slots: readonly Slot[], changes?: Partial<Workflow>) => {
  const step = await conclude(await inFlight(slots, changes), setup.deps)
  return step.type === 'wait' ? step : step.workflow
}
const spent = async () => (await journal.reservations('liquidator', 0))[0]

describe('concluding a success', () => {
  it('waits for the service, and settles what was really spent', async () => {
    expect(await concluded([finalSlot(0, {}), finalSlot(1, {})])).toMatchObject({
      state: 'confirmed',
      awaiting: { blockNumber: 8n, sinceMs: 5_000 },
      realized: { gasWei: 60n, tokens: [] },
    })
    expect(await spent()).toMatchObject({ usdMicros: 1_000n, gasWei: 60n, reverted: false })
  })

  it('counts what the bytes cost beside gas', async () => {
    const paid = [finalSlot(0, { dataFeeWei: 4n }), finalSlot(1, { dataFeeWei: 5n })]
    expect(await concluded(paid)).toMatchObject({ realized: { gasWei: 69n } })
  })

  it.each([
    ['the first', []],
    [
      'one after another failed',
      [
        finalSlot(
          2,
          { status: 'reverted' },
          { kind: 'revoke', predicted: { gasUsed: 0n, dataFeeWei: 16n, tokens: [] } },
        ),
      ],
    ],
  ])(
    'reserves for a revocation as much for its bytes as for those that it follows: %s',
    async (_, earlier) => {
      setup.world.allowance = 2n
      const predicted = { gasUsed: 1n, dataFeeWei: 8n, tokens: [] }
      const proposal = proposalOf({ workflowType: 'own.liquidator.sell', input: { minLoanAssets: '0' } })
      const slots = [approved({ predicted }), finalSlot(1, {}, { predicted }), ...earlier]
      const revoking = await concluded(slots, { proposal })
      expect('slots' in revoking && revoking.slots.slice(slots.length)).toMatchObject([
        { kind: 'revoke', predicted: { dataFeeWei: 16n } },
      ])
    },
  )

  it('revokes what a venue left of what it was allowed to take, and is a success all the same', async () => {
    setup.world.allowance = 2n
    const proposal = proposalOf({ workflowType: 'own.liquidator.sell', input: { minLoanAssets: '0' } })
    const sold = [approved(), finalSlot(1, {})]
    const revoking = await concluded(sold, { proposal })
    if (!('slots' in revoking)) throw new TypeError('waited')
    expect(revoking.slots.map(({ kind, payload }) => [kind, payload.to])).toEqual([
      ['intent', TOKEN],
      ['intent', MARKET],
      ['revoke', TOKEN],
    ])
    setup.world.allowance = 0n
    const slots = [...sold, finalSlot(2, {}, { kind: 'revoke' })]
    const ended = await conclude({ ...revoking, slots }, setup.deps)
    expect(ended).toMatchObject({ workflow: { state: 'confirmed', realized: { gasWei: 90n } } })
    expect(setup.world.safe).toEqual([])
  })

  it('takes nothing of what was reserved where its end is not written', async () => {
    const claimed = await inFlight([finalSlot(0, {})])
    await journal.write(claimed)
    await expect(conclude(claimed, setup.deps)).rejects.toMatchObject({ code: 'journal.conflict' })
    expect(await spent()).toMatchObject({ gasWei: 9_999n })
  })

  it('concludes nothing before it has read what an earlier release did not keep', async () => {
    const { tokens: _none, ...inclusion } = endOf(8)
    const old = finalSlot(1, null, { inclusion })
    expect(await concluded([finalSlot(0, {}), old])).toEqual({ type: 'wait', ms: 500 })
    expect(await spent()).toMatchObject({ gasWei: 9_999n })
  })

  it('is one also where the payload landed before the no-op that was to close it', async () => {
    const closing = { closing: 'expired' }
    const slots = [finalSlot(0, {}, closing), finalSlot(1, {}, closing)]
    expect(await concluded(slots)).toMatchObject({ state: 'confirmed' })
    expect(await spent()).toMatchObject({ usdMicros: 1_000n })
  })

  it('makes the signer SAFE where more left than was simulated: an alarm alone let the role go on', async () => {
    const slots = [finalSlot(0, { tokens: [{ token: TOKEN, assets: -1n }], claimId: 4n })]
    expect(await concluded(slots)).toMatchObject({ state: 'confirmed', realized: { claimId: 4n } })
    expect(setup.world.safe).toEqual([`${SIGNER} effects_differ ${workflowOf('in_flight').id}`])
  })
})

describe('concluding a sale', () => {
  const sale = { workflowType: 'own.liquidator.sell', input: { minLoanAssets: '970' } } as const
  const paying = (assets: bigint) => [
    finalSlot(
      0,
      { tokens: [{ token: TOKEN, assets }] },
      { predicted: { gasUsed: 1n, tokens: [{ token: TOKEN, assets: 1_000n }] } },
    ),
  ]

  it('takes what its call insists on: whoever trades before us must not make the signer SAFE', async () => {
    expect(await concluded(paying(970n), { proposal: proposalOf(sale) })).toMatchObject({
      state: 'confirmed',
    })
    expect(setup.world.safe).toEqual([])
  })

  it('makes the signer SAFE where a venue paid one base unit less than that', async () => {
    await concluded(paying(969n), { proposal: proposalOf(sale) })
    expect(setup.world.safe).toHaveLength(1)
  })
})

describe('concluding a failure', () => {
  it('names the end after what happened, a revert first of all but a lost nonce', async () => {
    const noop = { purpose: 'noop' } as const
    const cases: [string, readonly Slot[]][] = [
      ['reverted', [approved(), finalSlot(1, { status: 'reverted' })]],
      ['superseded', [finalSlot(0, { status: 'reverted' }), finalSlot(1, null, { consumedByOther: true })]],
      ['expired', [finalSlot(0, noop, { closing: 'expired' }), finalSlot(1, noop)]],
      ['cancelled', [finalSlot(0, noop, { closing: 'position_healthy' }), finalSlot(1, noop)]],
    ]
    for (const [state, slots] of cases) {
      await journal.close()
      journal = frozenJournal(openSqliteJournal(newDirectory()))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      expect(await concluded(slots)).toMatchObject({ state })
      const reverted = slots.some(({ inclusion }) => inclusion?.status === 'reverted')
      expect(await spent()).toMatchObject({ usdMicros: 0n, reverted })
    }
  })

  const failed = () => [approved(), finalSlot(1, { status: 'reverted' })]

  describe('of a liquidation', () => {
    const [borrower, other, rival] = ['b0', 'b1', 'c0'].map((byte): Address => `0x${byte.repeat(20)}`)
    const liquidated = (whose: Address | undefined, blockNumber: bigint, hash = hashOf(99)): MinedLog => ({
      address: MARKET,
      topics: [LIQUIDATED_TOPIC, hashOf(1), pad(rival ?? '0x'), pad(whose ?? '0x')],
      index: 0,
      data: encodeAbiParameters(
        ['address', 'address', 'uint256', 'uint256', 'uint256'].map((type) => ({ type })),
        [rival, rival, 2_500_000n, 5n, 0n],
      ),
      blockNumber,
      blockHash: hashOf(0),
      hash,
    })
    const UNKNOWN = 'the state had changed since the simulation, as it does where somebody else was first.'
    const proposal = proposalOf({ input: { marketAddress: MARKET, borrowerAddress: borrower ?? '' } })
    const SUSD = { symbol: 'sUSD', decimals: 6, address: TOKEN, codeHash: hashOf(0) }

    it.each([
      [
        'somebody else did it',
        [liquidated(other, 12n), liquidated(borrower, 11n), liquidated(borrower, 12n, hashOf(98))],
        `${rival} liquidated the borrower first, in block 11, in transaction ${hashOf(99)}, and repaid 2.5 sUSD.`,
      ],
      [
        'somebody else did it beside it',
        [{ ...liquidated(borrower, 11n), data: '0x' } as const, liquidated(borrower, 12n)],
        `${rival} liquidated the borrower in the same block, in transaction ${hashOf(99)}, and repaid 2.5 sUSD.`,
      ],
      [
        'nobody did since the simulation',
        [liquidated(borrower, 10n), liquidated(borrower, 13n), liquidated(borrower, 12n, hashOf(8))],
        'nobody else liquidated the borrower since block 10, so its price, collateral or debt had changed.',
      ],
      ['nodes do not say', null, UNKNOWN],
    ] as const)('says in its reason: %s', async (_, logs, why) => {
      setup.world.logs = logs === null ? null : [...logs]
      setup.deps = { ...setup.deps, deployment: { assets: [SUSD] } }
      const slots = [approved(), finalSlot(1, { status: 'reverted', blockNumber: 12n })]
      expect(await concluded(slots, { proposal })).toMatchObject({
        state: 'reverted',
        note: {
          check: 'reverted_on_chain',
          message: `The transaction at nonce 8 reverted in block 12: ${why}`,
        },
      })
    })

    it('says that nobody did only of blocks that were all read, and of a call of the market', async () => {
      const message = (why: string) => ({ note: { message: expect.stringMatching(new RegExp(`: ${why}$`)) } })
      const far = [approved(), finalSlot(1, { status: 'reverted', blockNumber: 400n })]
      expect(await concluded(far, { proposal })).toMatchObject(message(UNKNOWN))
      await journal.close()
      journal = frozenJournal(openSqliteJournal(newDirectory()))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      setup.world.logs = [liquidated(borrower, 11n)]
      const first = approved({ inclusion: endOf(7, { status: 'reverted', blockNumber: 12n }) })
      expect(await concluded([first], { proposal })).toMatchObject(message(UNKNOWN))
    })

    it('ends without it where nodes say nothing', async () => {
      const logs = () => new Promise<never>(() => {})
      const nodes = { ...setup.deps.nodes, logs }
      const clock = { sleep: async () => {} }
      const slots = [approved(), finalSlot(1, { status: 'reverted', blockNumber: 12n })]
      const ended = await conclude(await inFlight(slots, { proposal }), { ...setup.deps, nodes, clock })
      expect(ended).toMatchObject({ workflow: { state: 'reverted' } })
    })
  })

  it('first takes back an approval that stands, that cannot be read, or that a node answers with 0x, at a nonce of its own', async () => {
    for (const allowance of [1n, null, '0x'] as const) {
      await journal.close()
      journal = frozenJournal(openSqliteJournal(newDirectory()))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      setup.world.allowance = allowance
      const revoking = await concluded(failed())
      expect(revoking).toMatchObject({ state: 'in_flight', version: 2 })
      if ('ms' in revoking) throw new TypeError('waits')
      expect(revoking.slots[2]).toMatchObject({
        kind: 'revoke',
        nonce: 9,
        state: 'open',
        payload: revocationPayload({ token: TOKEN, spender: MARKET, assets: 5n }),
        attempts: [{ purpose: 'payload', state: 'ordered' }],
      })
      expect(await journal.nextNonce(31_337, SIGNER)).toBe(10)
    }
  })

  it('misses nothing of what a payload that did not land was to bring', async () => {
    const predicted = { gasUsed: 1n, tokens: [{ token: TOKEN, assets: 5n }] }
    await concluded([approved(), finalSlot(1, { status: 'reverted' }, { predicted })])
    expect(setup.world.safe).toEqual([])
  })

  it('makes the signer SAFE also where a part that landed did more than was simulated', async () => {
    const slots = [
      finalSlot(0, { tokens: [{ token: TOKEN, assets: -1n }] }),
      finalSlot(1, { status: 'reverted' }),
    ]
    expect(await concluded(slots)).toMatchObject({ state: 'partial' })
    expect(setup.world.safe).toHaveLength(1)
  })

  it('makes the signer SAFE where a venue took of what it was allowed to beside a call that did not land', async () => {
    const proposal = proposalOf({ workflowType: 'own.liquidator.sell', input: { minLoanAssets: '1' } })
    for (const [allowance, state, count] of [
      [0n, 'reverted', 1],
      [4n, 'in_flight', 1],
      [5n, 'in_flight', 0],
      [null, 'in_flight', 0],
    ] as const) {
      await journal.close()
      journal = frozenJournal(openSqliteJournal(newDirectory()))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      setup.world.allowance = allowance
      expect(await concluded(failed(), { proposal })).toMatchObject({ state })
      expect(setup.world.safe).toHaveLength(count)
    }
  })

  it('takes back no approval that never landed', async () => {
    setup.world.allowance = 1n
    const slots = [finalSlot(0, { status: 'reverted' }), finalSlot(1, { purpose: 'noop' })]
    expect(await concluded(slots)).toMatchObject({ state: 'reverted' })
  })

  it('does not end where a fork past finality is seen while it looks at what stands', async () => {
    setup.world.asked = () => {
      setup.world.stands = false
    }
    expect(await concluded([approved(), finalSlot(1, { status: 'reverted' })])).toEqual({
      type: 'wait',
      ms: 500,
    })
    expect(await spent()).toMatchObject({ gasWei: 9_999n })
  })

  it('does not end while it is not known whether its blocks stand, and gives back nothing of what was reserved', async () => {
    setup.world.stands = null
    const noop = { purpose: 'noop' } as const
    const slots = [finalSlot(0, noop, { closing: 'expired' }), finalSlot(1, noop)]
    expect(await concluded(slots)).toEqual({ type: 'wait', ms: 500 })
    expect(await spent()).toMatchObject({ usdMicros: 1_000n, gasWei: 9_999n })
  })

  it('waits where the fee cap is below the base fee', async () => {
    setup.world.allowance = 1n
    setup.world.baseFeePerGasWei = 50_000_000_001n
    expect(await concluded(failed())).toEqual({ type: 'wait', ms: 500 })
  })

  it('revokes again what still stands, three times, and then tells a person', async () => {
    setup.world.allowance = 1n
    const revoked = (index: number) => finalSlot(index, { status: 'reverted' }, { kind: 'revoke' })
    expect(await concluded([...failed(), revoked(2), revoked(3)])).toMatchObject({ state: 'in_flight' })
    expect(setup.world.alarms).toEqual([])
    await journal.close()
    journal = frozenJournal(openSqliteJournal(newDirectory()))
    await journal.adoptNonce(31_337, SIGNER, 7)
    setup = createWorld()
    setup.world.allowance = 1n
    const given = await concluded([...failed(), revoked(2), revoked(3), revoked(4)])
    expect(given).toMatchObject({ state: 'partial' })
    expect(setup.world.alarms).toEqual(['allowance.standing', 'workflow.partial'])
  })

  it('revokes again, however often, where its nonce was taken by somebody else', async () => {
    setup.world.allowance = 1n
    const taken = (index: number) => finalSlot(index, null, { kind: 'revoke', consumedByOther: true })
    expect(await concluded([...failed(), taken(2), taken(3), taken(4)])).toMatchObject({ state: 'in_flight' })
    expect(setup.world.alarms).toEqual([])
  })

  it('ends quarantined where it was marked, once what stands is taken back, whatever landed', async () => {
    const quarantined = { atMs: 1, note: { check: 'three_strikes', message: 'thrice' } }
    for (const last of [finalSlot(1, {}), finalSlot(1, { purpose: 'noop' }, { closing: 'quarantined' })]) {
      await journal.close()
      journal = frozenJournal(openSqliteJournal(newDirectory()))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      setup.world.allowance = 1n
      const marked = { ...(await inFlight([finalSlot(0, {}), last])), quarantined }
      const revoking = await conclude(marked, setup.deps)
      if (revoking.type === 'wait') throw new TypeError('nothing is taken back')
      expect(revoking.workflow).toMatchObject({
        state: 'in_flight',
        slots: [{}, {}, { kind: 'revoke' }],
      })
      setup.world.allowance = 0n
      const revoked = [...marked.slots, finalSlot(2, {}, { kind: 'revoke' })]
      expect(await conclude({ ...revoking.workflow, slots: revoked }, setup.deps)).toMatchObject({
        workflow: { state: 'quarantined', note: quarantined.note },
      })
    }
  })

  it('takes what it took back itself for nobody else’s', async () => {
    const proposal = proposalOf({ workflowType: 'own.liquidator.sell', input: { minLoanAssets: '1' } })
    const slots = [...failed(), finalSlot(2, {}, { kind: 'revoke' })]
    expect(await concluded(slots, { proposal })).toMatchObject({ state: 'reverted' })
    expect(setup.world.safe).toEqual([])
  })

  describe('beside another workflow of its signer', () => {
    /** Have another workflow take two nonces, of which the first allows the same market to take a token. */
    const another = async (
      slot: Partial<Slot>,
      token = TOKEN,
      index = 2,
      changes: Partial<Workflow> = {},
    ) => {
      const id = 'f'.repeat(32)
      const opened = { id, opportunity: 'cd'.repeat(32), proposal: proposalOf({ subject: 'another' }) }
      await journal.open(workflowOf('cleared', opened))
      const base = finalSlot(index, {}, slot)
      const approves = { ...base, payload: { ...base.payload, to: token, data: approvalOf(token) } }
      const slots = [approves, finalSlot(index + 1, null, { state: 'open' })]
      const claimed = await journal.claim(workflowOf('in_flight', { ...opened, slots }), null)
      if (claimed === 'lost') throw new TypeError('lost')
      await journal.write({ ...claimed, ...changes })
    }
    const concludedBeside = async (
      slot: Partial<Slot>,
      token?: `0x${string}`,
      changes?: Partial<Workflow>,
    ) => {
      const workflow = await inFlight(failed(), changes)
      await another(slot, token)
      const step = await conclude(workflow, setup.deps)
      return step.type === 'wait' ? step : step.workflow
    }

    it('takes back nothing of what the other allowed anew', async () => {
      setup.world.allowance = 1n
      expect(await concludedBeside({})).toMatchObject({ state: 'reverted' })
      expect(setup.world.alarms).toEqual([])
    })

    it('makes nothing SAFE of what the other used up', async () => {
      const proposal = proposalOf({ workflowType: 'own.liquidator.sell', input: { minLoanAssets: '1' } })
      expect(await concludedBeside({}, TOKEN, { proposal })).toMatchObject({ state: 'reverted' })
      expect(setup.world.safe).toEqual([])
    })

    it.each([
      ['has ended, and left a rest', {}, { state: 'confirmed' }],
      [
        'is quarantined before it is final',
        { state: 'open' },
        { quarantined: { atMs: 1, note: { check: 'three_strikes', message: 'thrice' } } },
      ],
    ] as const)('takes back what is left where the other %s', async (_, slot, changes) => {
      setup.world.allowance = 1n
      const workflow = await inFlight(failed())
      await another(slot, TOKEN, 2, changes)
      expect(await conclude(workflow, setup.deps)).toMatchObject({
        workflow: { state: 'in_flight', slots: [{}, {}, { kind: 'revoke', nonce: 11 }] },
      })
    })

    it('waits where the block of the other’s approval may be gone', async () => {
      setup.deps = { ...setup.deps, stands: ({ number }) => number !== 9n }
      expect(await concludedBeside({})).toEqual({ type: 'wait', ms: 500 })
    })

    it('leaves the other’s alone, too, once it took back another of its own', async () => {
      setup.world.allowance = 1n
      const second = `0x${'71'.repeat(20)}` as const
      const { clearance } = workflowOf('in_flight')
      if (clearance === undefined) throw new TypeError('was not cleared')
      const allowances = [TOKEN, second].map((token) => ({ token, spender: MARKET, assets: 5n }))
      const workflow = await inFlight(failed(), { clearance: { ...clearance, allowances } })
      await another({})
      const first = await conclude(workflow, setup.deps)
      if (first.type === 'wait') throw new TypeError('nothing is taken back')
      const revocation = first.workflow.slots.at(-1)
      if (revocation === undefined) throw new TypeError('nothing is taken back')
      expect(revocation).toMatchObject({ kind: 'revoke', nonce: 11, payload: { to: second } })
      const landed = { ...revocation, state: 'final' as const, inclusion: endOf(11) }
      const slots = [...workflow.slots, landed]
      expect(await conclude({ ...first.workflow, slots }, setup.deps)).toMatchObject({
        workflow: { state: 'in_flight', slots: [{}, {}, {}, { kind: 'revoke', payload: { to: second } }] },
      })
    })

    it('looks again where another claims while it asks the chain', async () => {
      setup.world.allowance = 1n
      const workflow = await inFlight(failed())
      const { nodes } = setup.deps
      const calls: typeof nodes.calls = async (asked) => {
        await another({ state: 'open' })
        return nodes.calls(asked)
      }
      expect(await conclude(workflow, { ...setup.deps, nodes: { ...nodes, calls } })).toEqual({
        type: 'wait',
        ms: 0,
      })
    })

    it('waits while it is not final whether the other allows anything', async () => {
      setup.world.allowance = 1n
      expect(await concludedBeside({ state: 'open' })).toEqual({ type: 'wait', ms: 500 })
    })

    it.each([
      ['did not land', { inclusion: endOf(9, { purpose: 'noop' }) }, TOKEN],
      ['reverted', { inclusion: endOf(9, { status: 'reverted' }) }, TOKEN],
      ['was for another token', {}, `0x${'71'.repeat(20)}`],
      ['was for another token, and is open', { state: 'open' }, `0x${'71'.repeat(20)}`],
    ] as const)('takes back its own where the other’s %s', async (_, slot, token) => {
      setup.world.allowance = 1n
      expect(await concludedBeside(slot, token)).toMatchObject({
        state: 'in_flight',
        slots: [{}, {}, { kind: 'revoke', nonce: 11 }],
      })
    })

    it('takes back its own where the other’s came before it', async () => {
      setup.world.allowance = 1n
      await another({}, TOKEN, 0)
      const approves = finalSlot(2, {}, { payload: approved().payload })
      const slots = [approves, finalSlot(3, { status: 'reverted' })]
      expect(await concluded(slots)).toMatchObject({ state: 'in_flight', slots: [{}, {}, { nonce: 11 }] })
    })

    it('takes back its own where the other’s was for another spender', async () => {
      setup.world.allowance = 1n
      const { clearance } = workflowOf('in_flight')
      if (clearance === undefined) throw new TypeError('was not cleared')
      const allowances = [{ token: TOKEN, spender: SIGNER, assets: 5n }]
      const workflow = await inFlight(failed(), { clearance: { ...clearance, allowances } })
      await another({})
      expect(await conclude(workflow, setup.deps)).toMatchObject({
        workflow: { state: 'in_flight', slots: [{}, {}, { kind: 'revoke' }] },
      })
    })
  })

  it('ends once the revocation worked', async () => {
    const slots = [...failed(), finalSlot(2, {}, { kind: 'revoke' })]
    expect(await concluded(slots)).toMatchObject({ state: 'reverted', realized: { gasWei: 90n } })
  })
})

describe('a bundle of which a part landed', () => {
  it.each([
    ['reverted', { status: 'reverted' as const }, {}],
    ['was closed by a no-op', { purpose: 'noop' as const }, { closing: 'expired' }],
    ['lost its nonce to another', null, { consumedByOther: true as const }],
  ])(
    'is partial where its later effect %s, keeps its exposure, and tells a person',
    async (_, end, changes) => {
      const slots = [finalSlot(0, { tokens: [{ token: TOKEN, assets: -5n }] }), finalSlot(1, end, changes)]
      expect(await concluded(slots)).toMatchObject({
        state: 'partial',
        realized: { tokens: [{ token: TOKEN, assets: -5n }] },
      })
      expect(await spent()).toMatchObject({ usdMicros: 1_000n })
      expect(setup.world.alarms).toEqual(['workflow.partial'])
    },
  )

  it('has what stands taken back first', async () => {
    setup.world.allowance = 1n
    const slots = [approved(), finalSlot(1, {}), finalSlot(2, { status: 'reverted' })]
    expect(await concluded(slots)).toMatchObject({
      state: 'in_flight',
      slots: [{}, {}, {}, { kind: 'revoke' }],
    })
  })

  it('is no part where all that landed is an approval that no longer stands', async () => {
    expect(await concluded([approved(), finalSlot(1, { status: 'reverted' })])).toMatchObject({
      state: 'reverted',
    })
  })
})
