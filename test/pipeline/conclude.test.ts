import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeAbiParameters, encodeEventTopics, erc20Abi, numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Receipt } from '../../src/chain/nodes.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite.ts'
import { type ConcludeDeps, conclude } from '../../src/pipeline/conclude.ts'
import { revocationPayload } from '../../src/pipeline/transactions/transaction.ts'
import type { Inclusion, Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { attemptOf, FEE_POLICY, MARKET, SIGNER, slotOf, TOKEN, workflowOf } from '../support/workflows.ts'

let journal: Journal
beforeEach(async () => {
  journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'conclude-')))
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

const createWorld = () => {
  const world = {
    allowance: 0n as bigint | null,
    baseFeePerGasWei: 1_000_000_000n,
    absent: new Set<string>(),
    logs: [] as Receipt['logs'],
    alarms: [] as string[],
  }
  const deps: ConcludeDeps = {
    nowMs: () => 5_000,
    baseFeePerGasWei: () => world.baseFeePerGasWei,
    fees: FEE_POLICY,
    nodes: {
      receipt: async (hash) =>
        world.absent.has(hash)
          ? null
          : {
              hash,
              from: SIGNER,
              blockNumber: 1n,
              blockHash: hashOf(0),
              status: 'success',
              gasUsed: 10n,
              effectiveGasPriceWei: 3n,
              logs: world.logs,
            },
      calls: async (calls) =>
        calls.map(() => (world.allowance === null ? null : numberToHex(world.allowance, { size: 32 }))),
    },
    journal,
    revocation: revocationPayload,
    alarm: (error) => world.alarms.push(error.code),
  }
  return { world, deps }
}
let setup: ReturnType<typeof createWorld>
beforeEach(() => {
  setup = createWorld()
})

/** A workflow in flight whose claim is in the journal, as it is after its slots ended. */
const inFlight = async (slots: readonly Slot[]): Promise<Workflow> => {
  const allowances = [{ token: TOKEN, spender: MARKET, assets: 5n }]
  const base = workflowOf('in_flight')
  const clearance = base.clearance === undefined ? undefined : { ...base.clearance, allowances }
  const workflow = { ...base, ...(clearance === undefined ? {} : { clearance }), slots }
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
const concluded = async (slots: readonly Slot[]) => {
  const step = await conclude(await inFlight(slots), setup.deps)
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

  it('concludes nothing while a node does not show a final receipt', async () => {
    setup.world.absent.add(hashOf(8))
    expect(await concluded([finalSlot(0, {}), finalSlot(1, {})])).toEqual({ type: 'wait', ms: 500 })
    expect(await spent()).toMatchObject({ gasWei: 9_999n })
  })

  it('is one also where the payload landed before the no-op that was to close it', async () => {
    const closing = { closing: 'expired' }
    const slots = [finalSlot(0, {}, closing), finalSlot(1, {}, closing)]
    expect(await concluded(slots)).toMatchObject({ state: 'confirmed' })
    expect(await spent()).toMatchObject({ usdMicros: 1_000n })
  })

  it('alarms where more left than was simulated', async () => {
    setup.world.logs = [
      {
        address: TOKEN,
        topics: encodeEventTopics({
          abi: erc20Abi,
          eventName: 'Transfer',
          args: { from: SIGNER, to: MARKET },
        }) as `0x${string}`[],
        data: encodeAbiParameters([{ type: 'uint256' }], [1n]),
      },
    ]
    expect(await concluded([finalSlot(0, {})])).toMatchObject({ state: 'confirmed' })
    expect(setup.world.alarms).toEqual(['effects.unexpected'])
  })
})

describe('concluding a failure', () => {
  it('names the end after what happened, a revert first of all but a lost nonce', async () => {
    const noop = { purpose: 'noop' } as const
    const cases: [string, readonly Slot[]][] = [
      ['reverted', [finalSlot(0, {}), finalSlot(1, { status: 'reverted' })]],
      ['superseded', [finalSlot(0, { status: 'reverted' }), finalSlot(1, null, { consumedByOther: true })]],
      ['expired', [finalSlot(0, noop, { closing: 'expired' }), finalSlot(1, noop)]],
      ['cancelled', [finalSlot(0, noop, { closing: 'position_healthy' }), finalSlot(1, noop)]],
    ]
    for (const [state, slots] of cases) {
      await journal.close()
      journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'conclude-')))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      expect(await concluded(slots)).toMatchObject({ state })
      const reverted = slots.some(({ inclusion }) => inclusion?.status === 'reverted')
      expect(await spent()).toMatchObject({ usdMicros: 0n, reverted })
    }
  })

  const failed = () => [finalSlot(0, {}), finalSlot(1, { status: 'reverted' })]

  it('first takes back an approval that stands, or that cannot be read, at a nonce of its own', async () => {
    for (const allowance of [1n, null]) {
      await journal.close()
      journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'conclude-')))
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

  it('takes back no approval that never landed', async () => {
    setup.world.allowance = 1n
    const slots = [finalSlot(0, { status: 'reverted' }), finalSlot(1, { purpose: 'noop' })]
    expect(await concluded(slots)).toMatchObject({ state: 'reverted' })
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
    journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'conclude-')))
    await journal.adoptNonce(31_337, SIGNER, 7)
    setup = createWorld()
    setup.world.allowance = 1n
    const given = await concluded([...failed(), revoked(2), revoked(3), revoked(4)])
    expect(given).toMatchObject({ state: 'reverted' })
    expect(setup.world.alarms).toEqual(['allowance.standing'])
  })

  it('ends quarantined where it was marked, once what stands is taken back, whatever landed', async () => {
    const quarantined = { atMs: 1, note: { check: 'three_strikes', message: 'thrice' } }
    for (const last of [finalSlot(1, {}), finalSlot(1, { purpose: 'noop' }, { closing: 'quarantined' })]) {
      await journal.close()
      journal = openSqliteJournal(mkdtempSync(join(tmpdir(), 'conclude-')))
      await journal.adoptNonce(31_337, SIGNER, 7)
      setup = createWorld()
      setup.world.allowance = 1n
      const marked = { ...(await inFlight([finalSlot(0, {}), last])), quarantined }
      expect(await conclude(marked, setup.deps)).toMatchObject({
        workflow: { state: 'in_flight', slots: [{}, {}, { kind: 'revoke' }] },
      })
      setup.world.allowance = 0n
      expect(await conclude(marked, setup.deps)).toMatchObject({
        workflow: { state: 'quarantined', note: quarantined.note },
      })
    }
  })

  it('ends once the revocation worked', async () => {
    const slots = [...failed(), finalSlot(2, {}, { kind: 'revoke' })]
    expect(await concluded(slots)).toMatchObject({ state: 'reverted', realized: { gasWei: 90n } })
  })
})
