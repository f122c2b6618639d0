import {
  type Address,
  erc20Abi,
  type Hex,
  keccak256,
  parseEventLogs,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { lendingMarketAbi, lendingVaultAbi } from '../../../sandbox/contracts/abis.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import { isTerminal } from '../../../src/workflow/workflow.ts'
import { BTC } from '../../sandbox/indexer/scene.ts'
import type { Ground } from './ground.ts'
import type { ChaosWorld } from './world.ts'

/** What was asked for: an order by its id, and the amount that names its effect on the chain. */
export type Order = { readonly id: string; readonly assets: bigint }

/** One transaction of a signer of ours as the chain has it. */
type Mined = {
  readonly signer: Address
  readonly nonce: number
  readonly hash: Hex
  readonly digest: Hex
  readonly to: Address | null
  readonly input: Hex
  readonly status: 'success' | 'reverted'
  readonly blockNumber: bigint
}

/** What the chain and the KMS's log say, without any word of the keeper's. */
export type Evidence = {
  readonly mined: readonly Mined[]
  readonly signed: ReadonlySet<string>
  /** How often each amount was deposited. */
  readonly deposits: ReadonlyMap<bigint, number>
  readonly liquidations: number
  readonly settlements: number
  readonly problems: readonly string[]
}

/** Read the chain and the KMS's log alone: what happened, and what is wrong by that. */
export async function gather(world: Ground, orders: readonly Order[]): Promise<Evidence> {
  const { scene, kms } = world.scene
  const signers = world.carriers.map(({ signer }) => signer.toLowerCase())
  const mined = await minedBy(world)
  const signed = new Set(
    kms
      .calls()
      .flatMap(({ operation, outcome, digest }) =>
        operation === 'Sign' && digest !== undefined && (outcome === 'ok' || outcome === 'Dropped')
          ? [`0x${digest}`]
          : [],
      ),
  )
  const logs = await scene.client.getLogs({
    address: [scene.at('primeVault'), scene.at(BTC.market)],
    fromBlock: 0n,
  })
  const deposits = new Map<bigint, number>()
  for (const { args } of parseEventLogs({ abi: lendingVaultAbi, eventName: 'Deposit', logs }))
    if (signers.includes(args.owner.toLowerCase()))
      deposits.set(args.assets, (deposits.get(args.assets) ?? 0) + 1)
  const liquidated = parseEventLogs({ abi: lendingMarketAbi, eventName: 'Liquidated', logs })
  const settled = parseEventLogs({ abi: lendingMarketAbi, eventName: 'ClaimSettled', logs })
  const problems = [
    ...mined
      .filter(({ digest }) => !signed.has(digest))
      .map(({ signer, nonce }) => `nonce ${nonce} of ${signer}: the KMS never signed it`),
    ...signers.flatMap((signer) => gaps(mined.filter((tx) => tx.signer === signer))),
    ...orders.flatMap(({ id, assets }) => {
      const times = deposits.get(assets) ?? 0
      return times > 1 ? [`DOUBLED: order ${id} was deposited ${times} times`] : []
    }),
    ...doubledPayloads(mined),
    ...(await leftOver(world)),
  ]
  return { mined, signed, deposits, liquidations: liquidated.length, settlements: settled.length, problems }
}

async function minedBy({ scene: { scene }, carriers }: Ground): Promise<readonly Mined[]> {
  const signers = new Set(carriers.map(({ signer }) => signer.toLowerCase()))
  const { client } = scene
  // What was remembered a moment ago may have been taken back.
  const head = await client.getBlockNumber({ cacheTime: 0 })
  const mined: Mined[] = []
  for (let number = 0n; number <= head; number += 1n) {
    // One with its transactions may be larger than an answer may be.
    const block = await client.getBlock({ blockNumber: number })
    for (const each of block.transactions) {
      const { from, status } = await client.getTransactionReceipt({ hash: each })
      const signer = addr.parse(from.toLowerCase())
      if (!signers.has(signer)) continue
      const tx = await client.getTransaction({ hash: each })
      const { nonce, hash, to, input, gas, value } = tx
      const unsigned = serializeTransaction({
        type: 'eip1559',
        chainId: scene.chain.chainId,
        nonce,
        to,
        data: input,
        value,
        gas,
        maxFeePerGas: tx.maxFeePerGas,
        maxPriorityFeePerGas: tx.maxPriorityFeePerGas,
      } as TransactionSerializable)
      mined.push({ signer, nonce, hash, digest: keccak256(unsigned), to, input, status, blockNumber: number })
    }
  }
  return mined.toSorted((a, b) => a.nonce - b.nonce)
}

const gaps = (mined: readonly Mined[]) =>
  mined
    .flatMap(({ nonce }, index) => (nonce === index ? [] : [`GAP: nonce ${index} is not on the chain`]))
    .slice(0, 1)

/** A signer's same call with the same arguments may run again only where it reverted before. */
function doubledPayloads(mined: readonly Mined[]): readonly string[] {
  const acts = mined.filter(
    ({ input, status }) => status === 'success' && !input.startsWith('0x095ea7b3') && input !== '0x',
  )
  return [...Map.groupBy(acts, ({ signer, to, input }) => `${signer}:${to}:${input}`).values()].flatMap(
    (same) =>
      same.length > 1
        ? [`DOUBLED: nonces ${same.map(({ nonce }) => nonce).join(', ')} carry one and the same call`]
        : [],
  )
}

/** What is still to be had, and what still stands: 0 at the end of honest work. */
export async function leftOver(world: Ground): Promise<readonly string[]> {
  const { scene, signer } = world.scene
  const market = { address: scene.at(BTC.market), abi: lendingMarketAbi } as const
  const healths = await Promise.all(
    world.borrowers.map(({ address }) =>
      scene.client.readContract({ ...market, functionName: 'healthFactorWad', args: [address] }),
    ),
  )
  const drowning = healths.filter((health) => health < 10n ** 18n).length
  const open = await scene.client.readContract({ ...market, functionName: 'openClaims', args: [signer] })
  const allowances = await Promise.all(
    world.carriers.flatMap(({ signer: owner }) =>
      [scene.at('primeVault'), scene.at(BTC.market)].map((spender) =>
        scene.client.readContract({
          address: scene.at('sUSD'),
          abi: erc20Abi,
          functionName: 'allowance',
          args: [owner, spender],
        }),
      ),
    ),
  )
  return [
    ...(drowning > 0 ? [`LOST: ${drowning} positions can still be liquidated`] : []),
    ...(open.length > 0 ? [`LOST: ${open.length} claims are not settled`] : []),
    ...(allowances.some((value) => value > 0n)
      ? [`STANDING: allowances of ${allowances.filter((value) => value > 0n).join(' and ')}`]
      : []),
  ]
}

/** Read the journal now, and hold it against the evidence. */
export async function compare(
  world: Pick<ChaosWorld, 'scene' | 'carriers' | 'reads' | 'replyTo'>,
  orders: readonly Order[],
  evidence: Evidence,
  /** Whether the journal is one from a backup: then what had taken no nonce yet is forgotten with its tail. */
  isRestored: boolean,
): Promise<{
  readonly workflows: number
  readonly states: Readonly<Record<string, number>>
  readonly problems: readonly string[]
}> {
  const journal = world.reads()
  try {
    const rows = await journal.list(1_000_000)
    const place = (signer: string, nonce: number) => `${signer.toLowerCase()}:${nonce}`
    const byNonce = new Map(evidence.mined.map((tx) => [place(tx.signer, tx.nonce), tx]))
    const problems: string[] = []
    for (const { signer } of world.carriers) {
      const next = (await journal.nextNonce(world.scene.scene.chain.chainId, signer)) ?? 0
      const counted = evidence.mined.filter((tx) => tx.signer === signer.toLowerCase()).length
      if (next !== counted)
        problems.push(`LEDGER: the next nonce of ${signer} is ${next}, the chain counts ${counted}`)
    }
    const isHeld = async (digest: string) =>
      (
        await Promise.all(world.carriers.map(({ signer }) => journal.ledgerEntry(digest as Hex, signer)))
      ).some((entry) => entry !== null)
    for (const digest of evidence.signed)
      if (!(await isHeld(digest)))
        problems.push(`LEDGER: the KMS signed ${digest.slice(0, 10)}, which the ledger does not hold`)
    // Who had no reply asks again: where the first was refused, the next may succeed.
    const done = new Set(
      rows.flatMap(({ state, proposal: { workflowType, input } }) =>
        workflowType === 'deposit' && state === 'succeeded' ? [String(input.assets)] : [],
      ),
    )
    for (const row of rows) {
      const name = `${row.proposal.kind} ${row.id.slice(0, 8)} (${row.state})`
      if (!isTerminal(row.state)) problems.push(`UNDECIDED: ${name}`)
      if (['quarantined', 'unconfirmed', 'superseded'].includes(row.state))
        problems.push(`ENDED: ${name}: ${row.note?.message}`)
      for (const slot of row.slots) {
        const tx = byNonce.get(place(row.signer, slot.nonce))
        if (slot.state !== 'final' || slot.inclusion === undefined) continue
        if (tx?.hash !== slot.inclusion.hash || tx.status !== slot.inclusion.status)
          problems.push(
            `FALSE FINAL: ${name} says ${slot.inclusion.status} at nonce ${slot.nonce}; the chain has ${tx?.status} ${tx?.hash === slot.inclusion.hash}`,
          )
      }
      if (row.proposal.workflowType !== 'deposit') continue
      const assets = String(row.proposal.input.assets)
      const times = evidence.deposits.get(BigInt(assets)) ?? 0
      if (isTerminal(row.state) && done.has(assets) !== (times === 1))
        problems.push(`FALSE TERMINAL: ${name}, and the chain has ${times} deposits`)
    }
    const states: Record<string, number> = {}
    const count = (state: string) => {
      states[state] = (states[state] ?? 0) + 1
    }
    const held = rows.flatMap(({ signer, slots }) => slots.map(({ nonce }) => place(signer, nonce)))
    if (new Set(held).size !== held.length) problems.push('LEDGER: a nonce has two holders')
    const known = new Set(rows.map(({ proposal }) => String(proposal.input.assets)))
    for (const { id, assets } of orders) {
      if (known.has(String(assets))) continue
      // Refused with a reason, its author knows; that alone decides an order without a workflow.
      const reply = await world.replyTo(id)
      if (reply === null && !isRestored) problems.push(`LOST: order ${id.slice(0, 8)} was not taken`)
      if (reply !== null) count(`order not opened: ${checkOf(reply)}`)
      if ((evidence.deposits.get(assets) ?? 0) > 0)
        problems.push(`FALSE TERMINAL: order ${id.slice(0, 8)} is in no workflow, and deposited: ${reply}`)
    }
    for (const { state, proposal } of rows) count(`${proposal.kind} ${state}`)
    return { workflows: rows.length, states, problems }
  } finally {
    await journal.close()
  }
}

const checkOf = (reply: string): string => String(Object(JSON.parse(reply)).check)
