import { keccak256 } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import type { MinedTransaction, Receipt } from '../../src/chain/nodes.ts'
import type { RolekeeperError } from '../../src/errors.ts'
import type { Gate } from '../../src/ops/control.ts'
import { type CarryDeps, carry, resend } from '../../src/pipeline/in-flight.ts'
import { registrations } from '../../src/pipeline/register.ts'
import { orderAttempt } from '../../src/pipeline/transactions/transaction.ts'
import type { Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { answerOf, FEE_POLICY, slotOf, workflowOf } from './workflows.ts'

const KEY = `0x${'42'.repeat(32)}` as const
/** Who signs in this world. */
const account = privateKeyToAccount(KEY)
export const FEES = { maxFeePerGasWei: 2_000_000_000n, maxPriorityFeePerGasWei: 1_000_000_000n }
/** The hash of every block. */
const HASH = `0x${'bb'.repeat(32)}` as const

const OTHER_HASH = `0x${'0f'.repeat(32)}` as const
const HEAD = { hash: HASH, parentHash: HASH, timestampS: 1, baseFeePerGasWei: 1n }

/** A slot with its first attempt ordered. */
export const freshSlot = (index: number): Slot => {
  const bare = slotOf({ index, nonce: 7 + index, signer: account.address, attempts: [] })
  return { ...bare, attempts: [orderAttempt(bare, 'payload', FEES, 1_000)] }
}

/** A world that answers as told, and remembers what was asked of it. */
export const createWorld = () => {
  const world = {
    nowMs: 2_000,
    headNumber: 10n,
    /** The chain's time, seconds; null while it is our clock's. */
    headTimestampS: null as number | null,
    chainNonce: 7,
    finalized: 0n,
    /** Nonces that another's transaction took, by the block that it is in. */
    foreign: new Map<number, bigint>(),
    sought: [] as number[],
    gate: { closed: false, paused: false } as Gate,
    rulesetHash: 'rules',
    recheck: { ok: true } as Awaited<ReturnType<CarryDeps['recheck']>>,
    kms: null as RolekeeperError | null,
    baseFeePerGasWei: 500_000_000n,
    gasWeiMax: 10n ** 18n,
    noopGas: 21_000n,
    /** What looking again at what is public comes to, and what the role's budgets say to more gas. */
    /** What proving a record before it is signed comes to. */
    proof: null as ReturnType<CarryDeps['prove']>,
    lookAgain: { ok: true } as Awaited<ReturnType<CarryDeps['lookAgain']>>,
    lookFails: null as RolekeeperError | null,
    onLook: () => {},
    budget: { ok: true } as Awaited<ReturnType<CarryDeps['checkBudget']>>,
    /** The gas that was reserved, wei: the newest last. */
    reserved: [] as bigint[],
    /** What happens while the KMS is asked; with `kmsHangs` it never answers, and ends when it is told to. */
    onKms: () => {},
    kmsHangs: false,
    onBarrier: () => {},
    sendOutcome: 'accepted' as 'accepted' | 'unknown' | 'rejected' | 'nonce_too_low',
    sendDetail: 'test',
    /** What took the nonces of `foreign`. */
    foreignHash: OTHER_HASH as `0x${string}`,
    receipts: new Map<string, Receipt>(),
    asked: [] as string[],
    alarms: [] as string[],
    /** What the journal says to what is sent. */
    registerFails: null as RolekeeperError | null,
    /** As the last step began with it. */
    last: null as Workflow | null,
    /** What took the signer to SAFE. */
    safe: [] as string[],
    log: [] as string[],
  }
  const digests = new Map<string, number>()
  /** The nonce and digest of each hash that the journal has. */
  const forms = new Map<string, { readonly nonce: number; readonly digest: `0x${string}` }>()
  const minedAt = (nonce: number): MinedTransaction | null | undefined => {
    const ours = [...world.receipts.values()].find(({ hash }) => forms.get(hash)?.nonce === nonce)
    const block = world.foreign.get(nonce)
    const receipt =
      ours ?? (block === undefined ? undefined : { ...receiptOf(world.foreignHash), blockNumber: block })
    if (receipt === undefined) return nonce < world.chainNonce ? undefined : null
    const { hash } = receipt
    const digest = forms.get(hash)?.digest ?? OTHER_HASH
    return { hash, nonce, digest, receipt, from: account.address, ...FEES }
  }
  const deps: CarryDeps = {
    view: () => ({
      nowMs: world.nowMs,
      headNumber: world.headNumber,
      headTimestampS: world.headTimestampS ?? Math.floor(world.nowMs / 1_000),
      baseFeePerGasWei: world.baseFeePerGasWei,
      chainNonce: world.chainNonce,
    }),
    gate: () => world.gate,
    terms: () => ({
      fees: FEE_POLICY,
      rulesetHash: world.rulesetHash,
      gasWeiMax: world.gasWeiMax,
      tipWei: null,
      noopGas: world.noopGas,
      urgent: [],
    }),
    signer: {
      address: account.address,
      keyId: 'test',
      signDigest: async (digest, signal) => {
        world.asked.push(digest)
        world.log.push('kms')
        world.onKms()
        if (world.kmsHangs)
          await new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
          )
        if (world.kms !== null) throw world.kms
        const { r, s, yParity } = await sign({ hash: digest, privateKey: KEY })
        return { r, s, yParity: yParity === 1 ? 1 : 0 }
      },
    },
    facts: () => ({
      head: { ...HEAD, number: world.headNumber },
      finalized: world.finalized,
      forkedFrom: null,
      count: world.chainNonce,
      minedAt,
    }),
    sentHere: new Map(),
    signers: {
      safe: (_, { check, seen }) => {
        world.safe.push(`${check}: ${seen}`)
      },
    },
    seek: ({ nonce }) => {
      world.sought.push(nonce)
    },
    nodes: {
      send: async (raw) => {
        world.log.push(`send ${keccak256(raw)}`)
        return [{ node: 'send-1', outcome: world.sendOutcome, detail: world.sendDetail }]
      },
    },
    journal: {
      barrier: async () => {
        world.log.push('barrier')
        world.onBarrier()
      },
      ordered: async () => {
        world.log.push('barrier')
        world.onBarrier()
      },
      ledgerEntry: async (digest) => ({
        digest,
        kind: 'transaction',
        signer: account.address,
        workflowId: 'x',
        nonce: digests.get(digest) ?? null,
        atMs: 0,
      }),
      write: async (workflow, reservation) => {
        if (reservation) world.reserved.push(reservation.gasWei)
        return workflow
      },
    },
    prove: () => world.proof,
    lookAgain: async () => {
      world.log.push('look again')
      world.onLook()
      if (world.lookFails !== null) throw world.lookFails
      return world.lookAgain
    },
    checkBudget: async () => world.budget,
    reserve: async (workflow, { gasWei }) => {
      if (!world.budget.ok) return world.budget
      world.reserved.push(gasWei)
      return workflow
    },
    register: async (workflow, atMs) => {
      if (world.registerFails !== null) throw world.registerFails
      world.log.push(...registrations(workflow, atMs).map((row) => `outbox ${row.order}`))
    },
    recheck: async () => {
      world.log.push('look')
      return world.recheck
    },
    alarm: (error) => {
      world.alarms.push(error.code)
    },
    conclude: async () => ({ type: 'wait', ms: 123_456 }),
  }
  /** Carry until there is nothing to do; the ledger learns each digest, as the journal's write does. */
  const settle = async (workflow: Workflow): Promise<{ workflow: Workflow; ms: number }> => {
    let current = workflow
    for (let steps = 0; steps < 20; steps += 1) {
      for (const slot of current.slots) {
        for (const { digest, hash } of slot.attempts) {
          digests.set(digest, slot.nonce)
          if (hash !== undefined) forms.set(hash, { nonce: slot.nonce, digest })
        }
      }
      world.last = current
      const result = await carry(current, deps)
      if (result.type === 'wait') return { workflow: current, ms: result.ms }
      current = result.workflow
    }
    throw new Error('carry never came to rest')
  }
  return { world, settle, resend: (workflow: Pick<Workflow, 'slots'>) => resend(workflow, deps) }
}

/** A receipt of our transaction in block 11. */
export const receiptOf = (hash: `0x${string}`, status: 'success' | 'reverted' = 'success'): Receipt => ({
  hash,
  from: account.address,
  blockNumber: 11n,
  blockHash: HASH,
  status,
  gasUsed: 50_000n,
  effectiveGasPriceWei: 1n,
  logs: [],
})

/** An approval and an action, ordered and not signed. */
export const pair = () =>
  workflowOf('in_flight', {
    signer: account.address,
    slots: [freshSlot(0), freshSlot(1)],
    prepared: {
      bytesSha256: '',
      answer: answerOf({ expiresAt: new Date(60_000).toISOString() }),
      receivedAtMs: 1_000,
    },
  })
/** What a slot's attempts are, and how far each is. */
export const purposes = (slot: Slot | undefined) =>
  slot?.attempts.map(({ purpose, state }) => `${purpose} ${state}`)
