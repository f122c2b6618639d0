/**
 * The pipeline under test, in a process of its own: real stages, guard, nodes, queue and a journal on disk. Opportunities
 * are opened as told, by what a role's decisions go through; nothing is decided here.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { createNodes } from '../../src/chain/http-nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { openProposal } from '../../src/decide/open.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../src/guard/ruleset.ts'
import { sanityOf } from '../../src/guard/sanity/by-role.ts'
import { createLiveStages } from '../../src/keeper/live-stages.ts'
import { openRecords } from '../../src/keeper/records.ts'
import { createRunQueue, createSerial } from '../../src/keeper/run-queue.ts'
import type { Stages } from '../../src/pipeline/pipeline.ts'
import { feePolicy } from '../../src/pipeline/transactions/fees.ts'
import { createGasMarket } from '../../src/pipeline/transactions/gas-market.ts'
import { watchChain } from '../../src/pipeline/transactions/nonces.ts'
import type { Signers } from '../../src/pipeline/transactions/safe.ts'
import { createTimers } from '../../src/queue/timers.ts'
import { createServiceClient } from '../../src/service/client.ts'
import { SERVICE_TIMEOUTS } from '../../src/service/http.ts'
import { recoverable } from '../../src/sign/signature.ts'
import type { Signer } from '../../src/sign/signer.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import {
  CONFIRMATIONS,
  contend,
  inputOf,
  type Job,
  POLL_MS,
  type ThroughputSettings,
  WORKFLOW_TYPE,
} from './throughput-world.ts'

const ROLE = 'bench'
const LARGE = '1000000000000000000000000'
const GAS_MAX = '120000'

const POLICY = {
  limits: limitsPolicy.parse({
    perWorkflow: { usdMicrosMax: LARGE, gasWeiMax: LARGE },
    perHour: { usdMicrosMax: LARGE, gasWeiMax: LARGE, revertsMax: '20' },
    perDay: { usdMicrosMax: LARGE, gasWeiMax: LARGE, revertsMax: '20' },
    pricesUsdMicros: {},
  }),
  // As in the shipped policies, but that an answer may wait for its turn among a few hundred.
  freshness: freshnessPolicy.parse({
    ...{ ageMsMax: '60000', blockLagMax: '60', headAgeMsMax: '30000' },
    ...{ expiryMarginMs: '3000', lifetimeMsMax: '120000' },
  }),
  guard: guardPolicy(sanityOf(ROLE).limits).parse({
    views: [
      'function balanceOf(address owner) view returns (uint256)',
      'function allowance(address owner, address spender) view returns (uint256)',
    ],
    allow: [
      {
        ...{ id: 'finalize', workflowType: WORKFLOW_TYPE, target: '$contract.rfqDesk' },
        function: 'function finalize(uint256 rfqId)',
        params: { rfqId: { eq: '$input.rfqId' } },
        ...{ valueWeiMax: '0', gasMax: GAS_MAX },
      },
    ],
    effects: [{ workflowType: WORKFLOW_TYPE, out: [], in: [] }],
    ...{ sanity: {}, gasHeadroomBps: '13000' },
  }),
  fees: feePolicy.parse({
    maxFeePerGasWei: '30000000000',
    priorityFeePerGasWei: '1000000000',
    priorityFeePerGasWeiMax: '3000000000',
    gainShareBps: '5000',
    nativePriceUsdMicros: '3000000000',
    baseFeeBps: '20000',
    bumpBps: '1250',
    bumpAfterBlocks: '3',
  }),
}

contend(createPipeline, timeJournal().longestMs)

async function createPipeline({ rpcUrl, serviceUrl, chainId, desk, keys }: ThroughputSettings) {
  const signers = keys.map(signerOf)
  const alarm = (error: Error) => process.stderr.write(`keeper: ${error.message}\n`)
  // With the watermark: every state that a keeper makes durable is.
  const { journal } = await openRecords(
    {
      directory: mkdtempSync(join(tmpdir(), 'throughput-')),
      chain: { id: chainId },
      agents: signers.map((signer) => ({ mode: 'live', signer })),
    },
    { clock: systemClock, alarm },
  )
  const nodes = await createNodes({
    ...{
      chainId,
      read: [rpcUrl],
      send: [rpcUrl],
      agree: 1,
      clock: systemClock,
      timeoutMs: 5_000,
      pollMs: POLL_MS,
    },
    finality: { confirmations: CONFIRMATIONS },
  })
  const client = createServiceClient(
    { baseUrl: serviceUrl, secretKey: 'sk_bench', timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
  const gas = createGasMarket({ nodes, nowMs: systemClock.nowMs })
  const live = new Map<string, Workflow>()
  const waiting = new Map<string, () => void>()
  const alone = createSerial()
  const safe: Signers['safe'] = (signer, { message }) =>
    process.stderr.write(`keeper: ${signer} is SAFE: ${message}\n`)
  const chain = await watchChain({
    ...{ nowMs: systemClock.nowMs, clock: systemClock, nodes, journal, alarm },
    safe,
    signers: signers.map(({ address }) => address),
    onHead: () => {
      for (const { id, state } of live.values())
        if (state === 'in_flight' || state === 'cleared') queue.wake(id, 0)
    },
    onFailed: (error) => process.stderr.write(`keeper: ${error}\n`),
  })
  const ruleset = compileRuleset(
    { role: ROLE, ...POLICY },
    {
      namespace: 'bench',
      assets: [],
      ...{ markets: [], vaults: [], funds: [], contracts: [{ ...desk, name: 'rfqDesk' }] },
    },
  )
  const approval = {
    always: new Set<never>(),
    aboveAssets: new Map(),
    aboveUsdMicros: undefined,
    beyondBps: undefined,
  }
  const stages = new Map<string, Stages>(
    signers.map((signer) => [
      signer.address,
      createLiveStages({
        ...{
          nowMs: systemClock.nowMs,
          gas,
          journal,
          nodes,
          client,
          chain,
          signer,
          ruleset,
          fees: POLICY.fees,
          alarm,
          signers: { safe },
        },
        approval: { ...approval, expiresAfterMs: 60_000 },
        mail: { everyMs: 250, answer: async () => null },
        window: 64,
        urgentOf: () => [],
        gate: () => ({ closed: false, paused: false }),
        alone: (work) => alone('budget', work),
      }),
    ]),
  )
  const queue = createRunQueue({
    ...{ clock: systemClock, journal, alone, createQueue: createTimers },
    remembered: (id) => live.get(id),
    stagesOf: ({ signer }) => stagesFor(stages, signer),
    onMove: (_before, after) => {
      live.set(after.id, after)
      if (after.state === 'confirmed') waiting.get(after.id)?.()
      else if (after.note !== undefined)
        process.stderr.write(`keeper: ${after.state}: ${after.note.message}\n`)
    },
    signers: { safe },
    metrics: { struck: () => {} },
    log: {
      error: (text: string, _facts: unknown, error: unknown) => process.stderr.write(`${text} ${error}\n`),
    },
  })
  const carryOne = async (job: Job) => {
    const signer = signers[job.key]
    if (signer === undefined) throw new TypeError('no such key')
    const opener = { role: ROLE, chainId, signer: signer.address, shadow: false }
    const opened = await openProposal(proposalOf(job, desk.address), opener, {
      ...{ nowMs: systemClock.nowMs, journal, alarm },
    })
    if (!opened.ok) throw new TypeError(opened.message)
    const { workflow } = opened
    live.set(workflow.id, workflow)
    const confirmed = new Promise<void>((resolve) => waiting.set(workflow.id, resolve))
    queue.wake(workflow.id, 0)
    await confirmed
    waiting.delete(workflow.id)
    live.delete(workflow.id)
  }
  return carryOne
}

/** Time all that SQLite does: every call of it holds the event loop. @returns the longest since the last time it was asked. */
function timeJournal() {
  let longest = 0
  const timed = <T extends object, K extends keyof T>(target: T, name: K) => {
    const work = target[name]
    if (typeof work !== 'function') return
    Object.defineProperty(target, name, {
      value(this: unknown, ...given: unknown[]) {
        const startedMs = performance.now()
        try {
          return Reflect.apply(work, this, given)
        } finally {
          longest = Math.max(longest, performance.now() - startedMs)
        }
      },
    })
  }
  timed(DatabaseSync.prototype, 'exec')
  for (const name of ['run', 'all', 'get'] as const) timed(StatementSync.prototype, name)
  return {
    longestMs: () => {
      const found = longest
      longest = 0
      return found
    },
  }
}

const proposalOf = (job: Job, desk: Hex): Proposal => ({
  ...{ workflowType: WORKFLOW_TYPE, kind: 'finalize', subject: String(job.id), occurrence: '1' },
  input: inputOf(desk, job),
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  ...{ summary: 'finalize', reason: {} },
})

function stagesFor(all: ReadonlyMap<string, Stages>, signer: string): Stages {
  const found = all.get(signer)
  if (found === undefined) throw new TypeError(`no stages of ${signer}`)
  return found
}

/** As the scripts sign, and checked as a KMS is: a key in memory, so that no waiting hides what the keeper costs. */
function signerOf(privateKey: Hex): Signer {
  const address = privateKeyToAccount(privateKey).address.toLowerCase() as Hex
  return {
    address,
    keyId: keccak256(address),
    signDigest: async (digest) => {
      const { r, s } = await sign({ hash: digest, privateKey })
      return recoverable(digest, BigInt(r), BigInt(s), address)
    },
  }
}
