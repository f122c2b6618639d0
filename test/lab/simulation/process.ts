import type { Hex } from 'viem'
import { z } from 'zod'
import { type JoinOptions, joinNodes } from '../../../src/chain/join-nodes.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import type { Clock } from '../../../src/clock.ts'
import { openProposal } from '../../../src/decide/open.ts'
import { type RolekeeperError, refuse } from '../../../src/errors.ts'
import type { Approval } from '../../../src/guard/approval/approval.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { type KeeperRecords, openRecords } from '../../../src/keeper/records/records.ts'
import { createSignerDesk, type SignerDesk } from '../../../src/keeper/signer/desk.ts'
import { fillNonce } from '../../../src/keeper/signer/fill-nonce.ts'
import { createLiveStages } from '../../../src/keeper/stages/live.ts'
import { createSerial } from '../../../src/keeper/term/run-queue.ts'
import type { Gate } from '../../../src/ops/control.ts'
import { run } from '../../../src/pipeline/pipeline.ts'
import { registerDue } from '../../../src/pipeline/register.ts'
import { type ChainView, watchChain } from '../../../src/pipeline/transactions/chain-view.ts'
import { type FeePolicy, feePolicy } from '../../../src/pipeline/transactions/fees.ts'
import { createGasMarket } from '../../../src/pipeline/transactions/gas-market.ts'
import type { Signers } from '../../../src/pipeline/transactions/safe.ts'
import { createTimers } from '../../../src/queue/timers.ts'
import type { Signer } from '../../../src/sign/signer.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { isTerminal, type Workflow } from '../../../src/workflow/workflow.ts'
import { sections } from '../../guard/fixtures.ts'
import { policyOf } from '../../support/policies.ts'
import { CHAIN_ID } from './chain.ts'
import { deployment } from './contracts.ts'
import { type ModelKms, SIGNER } from './kms.ts'
import { asking, type ModelNode } from './node.ts'
import type { CrashPoint } from './plan.ts'
import { clockOf, type Owner, type Scheduler } from './scheduler.ts'
import type { ModelClient, ModelService } from './service.ts'

/** The liquidator's own rules, against the model's contracts. */
export const ruleset = compileRuleset(sections, deployment)

const { fees: ownFees } = z.object({ fees: feePolicy }).parse(policyOf('liquidator'))

/** What the liquidator's own policy pays, under another cap. Pure. */
export const feesUnder = (maxFeePerGasWei: bigint): FeePolicy => ({ ...ownFees, maxFeePerGasWei })

/** Nobody is asked. */
const APPROVAL: Approval = {
  always: new Set(),
  aboveAssets: new Map(),
  aboveUsdMicros: undefined,
  beyondBps: undefined,
  expiresAfterMs: 900_000,
  hash: '',
  approvers: {},
  quorum: 1,
}

/** As a role's own gate: a signer in SAFE begins nothing. */
function gateOf(signers: Signers): Gate {
  const [reason] = signers.reasonsOf(SIGNER)
  const open = { closed: false, paused: false }
  return reason === undefined ? open : { ...open, safe: refuse('signer_safe', `SAFE (${reason.check})`) }
}

const HEAD_POLL_MS = 1_000
const REGISTER_MS = 2_000
/** What a deep reorg took is sent again for so long before a person gives it up. */
const LANDS_AGAIN_MS = 60_000

/** What a process runs in. */
export type Surroundings = {
  readonly scheduler: Scheduler
  readonly directory: string
  readonly nodes: readonly ModelNode[]
  readonly agree: number
  readonly finality: JoinOptions['finality']
  readonly fees: FeePolicy
  readonly service: ModelService
  readonly kms: ModelKms
  /** Called at each effect; the process may be dead when it returns. */
  readonly passes: (point: CrashPoint, when: 'before' | 'after') => void
  /** Raw bytes leave for the nodes. */
  readonly onSend: (raw: Hex, directory: string) => void
  /** A workflow was taken up again. */
  readonly onResumed: (workflow: Workflow) => void
  readonly onMove: (before: Workflow | null, after: Workflow) => void
  /** The keeper's view of the chain has come to a new head. */
  readonly onHead: () => void
  /** The keeper begins from the last block that its journal calls final; null where there is none. */
  readonly onFinalRead: (hash: Hex | null) => void
  /** The keeper calls a block final. */
  readonly onFinal: (hash: Hex) => void
  /** The keeper takes its next nonce from the chain. */
  readonly onAdopt: (nonce: number) => void
  /** The key is asked for a signature. */
  readonly onAsk: (digest: Hex) => void
  /** What an order about a signer came to. */
  readonly onOrder: (said: string) => void
  readonly onAlarm: (error: RolekeeperError) => void
  /** A step threw what no outside trouble explains. */
  readonly onBroken: (what: string, error: unknown) => void
}

/** Where the journal keeps the last block that was called final, and how. */
const FINAL_KEY = `final:${CHAIN_ID}`
const finalBlock = z.object({ hash: z.custom<Hex>((hash) => typeof hash === 'string') })
const finalHash = (text: unknown): Hex => finalBlock.parse(JSON.parse(String(text))).hash

/** A promise of its own each time: one for all would keep what waits for it, and with it every process that died. */
const never = () => new Promise<never>(() => undefined)

const POINTS: Readonly<Record<string, CrashPoint>> = {
  open: 'open',
  write: 'write',
  claim: 'claim',
  barrier: 'barrier',
  post: 'post',
  get: 'read',
}

const isUrgent = ({ state, proposal }: Workflow): boolean => state === 'in_flight' && proposal.urgent === true

/** Every type here is signed for: none is done by a session. */
const NO_SESSION = {
  use: async () => {
    throw new TypeError('no session is opened here')
  },
}

/** One life of a keeper: what it holds in memory goes with it. */
export class Process {
  readonly #world: Surroundings
  #records: KeeperRecords | null = null
  #desk: SignerDesk | null = null
  #chain: ChainView | null = null
  readonly isAlive: Owner
  #alive = true
  /** Its files are being closed: what it still does fails. */
  #isLeaving = false
  /** Open a proposal; null while nothing can be opened. */
  #open: ((proposal: Proposal) => Promise<unknown>) | null = null

  constructor(world: Surroundings) {
    this.#world = world
    this.isAlive = () => this.#alive
  }

  /** The journal as it is, for looking at it from outside; null until it is open. */
  get journal(): Journal | null {
    return this.#records?.journal ?? null
  }

  /** Why its signer is SAFE. */
  get doubts(): readonly string[] {
    return this.#records?.signers.reasonsOf(SIGNER).map(({ check }) => check) ?? []
  }

  /** The newest block that its view of the chain has come to; null until there is one. */
  get head(): Hex | null {
    return this.#chain?.facts(SIGNER).head.hash ?? null
  }

  /** Let go of the files, as the end of a process does. */
  async release(): Promise<void> {
    this.#isLeaving = true
    await this.#records?.close()
  }

  /** Die: nothing of this life does anything any more. */
  die(): void {
    this.#alive = false
  }

  /** Do what a person does about a signer in SAFE, once nothing is in the way. */
  attend(): void {
    if (this.#desk === null || this.#records?.signers.reasonsOf(SIGNER).length === 0) return
    const desk = this.#desk
    const order = async (verb: 'fill' | 'resync' | 'release', nonce?: number) => {
      const about = nonce === undefined ? {} : { nonce }
      const done = await desk.take({ verb, signer: SIGNER, yes: true, ...about })
      this.#world.onOrder(`${verb}: ${done.ok ? done.text : done.message}`)
    }
    const lost = this.#lostForGood()
    order('resync')
      .then(() => (lost === null ? undefined : order('fill', lost)))
      .then(() => order('release'))
      .catch((error: unknown) => this.#failed('an order', error))
  }

  /** The nonce that the chain has lost, and that a reason names, once it had time to land again; null where there is none. */
  #lostForGood(): number | null {
    const ahead = this.#records?.signers
      .reasonsOf(SIGNER)
      .find(({ check }) => check === 'journal_ahead_of_chain')
    const isDue = ahead !== undefined && this.#world.scheduler.nowMs() - ahead.atMs >= LANDS_AGAIN_MS
    const [, nonce] = /signer fill \S+ (\d+)/.exec(isDue ? ahead.toLeave : '') ?? []
    return nonce === undefined ? null : Number(nonce)
  }

  /** Whether its start has ended: what was in flight is taken up. */
  get hasBegun(): boolean {
    return this.#open !== null
  }

  propose(proposal: Proposal): void {
    this.#open?.(proposal).catch((error: unknown) => this.#failed('open', error))
  }

  #failed(what: string, error: unknown): void {
    if (this.#alive && !this.#isLeaving) this.#world.onBroken(what, error)
  }

  /** A journal whose every call is a place to die at; of a dead process no call comes back. */
  #mortal(whole: Journal): Journal {
    const { passes, onFinal, onFinalRead, onAdopt } = this.#world
    return new Proxy(whole, {
      get: (journal, name) => {
        const member: unknown = Reflect.get(journal, name)
        if (typeof member !== 'function') return member
        const point = POINTS[String(name)]
        return (...args: unknown[]) => {
          if (!this.#alive) return never()
          if (name === 'setValue' && args[0] === FINAL_KEY) onFinal(finalHash(args[1]))
          if (name === 'adoptNonce') onAdopt(Number(args[2]))
          if (point !== undefined) passes(point, 'before')
          if (!this.#alive) return never()
          const result: unknown = Reflect.apply(member, journal, args)
          if (!(result instanceof Promise)) return result
          return result.then(
            (value) => {
              if (!this.#alive) return never()
              if (point !== undefined) passes(point, 'after')
              if (name === 'getValue' && args[0] === FINAL_KEY)
                onFinalRead(value === null ? null : finalHash(value))
              return this.#alive ? value : never()
            },
            (error: unknown) => (this.#alive ? Promise.reject(error) : never()),
          )
        }
      },
    })
  }

  /** An effect outside of the journal. */
  async #effect<T>(point: CrashPoint, work: () => Promise<T>): Promise<T> {
    const { passes } = this.#world
    if (!this.#alive) return never()
    passes(point, 'before')
    if (!this.#alive) return never()
    const done = work()
    // What has left has left, whatever becomes of who sent it.
    passes(point, 'after')
    if (!this.#alive) return never()
    return done
  }

  /** Start as a keeper does: nodes, what is in flight, then what is new. Throws what the nodes throw. */
  async start(): Promise<void> {
    const { scheduler, service, kms, fees, onMove, onAlarm } = this.#world
    const clock = clockOf(scheduler, this.isAlive)
    this.#records = await openRecords(
      {
        directory: this.#world.directory,
        chain: { id: CHAIN_ID },
        agents: [{ mode: 'live', signer: { address: SIGNER } }],
      },
      { clock, alarm: onAlarm },
    )
    const { signers } = this.#records
    const journal = this.#mortal(this.#records.journal)
    const nodes = this.#joinNodes(clock)
    const live = new Map<string, Workflow>()
    const moved = (before: Workflow | null, after: Workflow) => {
      if (isTerminal(after.state)) live.delete(after.id)
      else live.set(after.id, after)
      // As a keeper does: what is in the way of what is urgent is bumped at once.
      if (isUrgent(after) && before?.state !== 'in_flight')
        for (const { id, state } of live.values()) if (state === 'in_flight') queue.wake(id, 0)
      onMove(before, after)
    }
    const chain = await watchChain({
      scope: '',
      nowMs: clock.nowMs,
      clock,
      nodes,
      journal,
      safe: signers.safe,
      signers: [SIGNER],
      onHead: () => {
        this.#world.onHead()
        for (const { id, state } of live.values()) {
          if (state === 'in_flight' || state === 'cleared' || state === 'attested') queue.wake(id, 0)
        }
      },
      onFailed: () => undefined,
      alarm: onAlarm,
    })
    this.#chain = chain
    const gas = createGasMarket({ nodes, monotonicMs: clock.monotonicMs })
    const desk = createSignerDesk({
      nodes,
      journal,
      chain,
      signers,
      addresses: [SIGNER],
      onChanged: moved,
      nowMs: clock.nowMs,
      releases: () => ({ ok: true, missing: null }),
      fill: (signer, nonce, filling) =>
        fillNonce(signer, nonce, filling, {
          nowMs: clock.nowMs,
          chainId: CHAIN_ID,
          journal,
          noopGas: gas.noopGas,
          baseFeePerGasWei: () => chain.of(signer).baseFeePerGasWei,
          fillerOf: () => ({ role: 'liquidator', workflowType: 'role.liquidator.liquidate', fees }),
          onFilled: (workflow) => {
            moved(null, workflow)
            queue.wake(workflow.id, 0)
          },
        }),
    })
    const client = this.#client(service.client(this.isAlive))
    const alone = createSerial()
    const stages = createLiveStages({
      gas,
      alone: (work) => alone('open', work),
      window: 16,
      apart: [],
      monotonicMs: clock.monotonicMs,
      clock,
      urgentOf: () => [...live.values()].filter(isUrgent),
      nowMs: clock.nowMs,
      journal,
      nodes,
      client,
      chain,
      ruleset,
      signer: this.#signer(kms.signer(this.isAlive, this.#world.directory)),
      approval: APPROVAL,
      mail: { everyMs: 250, answers: async () => [] },
      standing: { now: async () => [], ahead: () => undefined, expect: () => undefined },
      fees,
      signers,
      session: NO_SESSION,
      gate: () => gateOf(signers),
      alarm: onAlarm,
    })
    const queue = createTimers({
      clock,
      run: (id) =>
        asking.run('workflow', () =>
          run(id, {
            nowMs: clock.nowMs,
            journal,
            alone,
            onMove: moved,
            remembered: (each) => live.get(each),
            stages: () => stages,
            onQuarantined: ({ id, signer }, { message }) =>
              signers.safe(signer, {
                check: 'three_strikes',
                message: `Workflow ${id} failed three times in a row and holds nonces.`,
                seen: message,
                toLeave: 'its nonces are final',
                workflowId: id,
              }),
            onStrike: (workflow, error) => this.#failed(`step of ${workflow.state}`, error),
          }),
        ),
      onError: (id, error) => this.#failed(`run of ${id}`, error),
    })
    await desk.look()
    this.#desk = desk
    for (const workflow of await journal.live()) {
      live.set(workflow.id, workflow)
      this.#world.onResumed(workflow)
      queue.wake(workflow.id, 0)
    }
    const register = () =>
      void registerDue({
        nowMs: clock.nowMs,
        journal,
        post: async ({ requestId }, idempotencyKey, body) => {
          await client.registerTransaction({ params: { requestId }, body, idempotencyKey })
        },
        onRefused: () => undefined,
      }).catch((error: unknown) => this.#failed('register', error))
    const again = () => {
      if (!this.#alive) return
      register()
      desk.look().catch((error: unknown) => this.#failed('desk', error))
      scheduler.after(REGISTER_MS, again)
    }
    again()
    this.#open = (proposal) =>
      alone('open', async () => {
        const opener = { role: 'liquidator', chainId: CHAIN_ID, signer: SIGNER, shadow: false } as const
        const opened = await openProposal(proposal, opener, { nowMs: clock.nowMs, journal, alarm: onAlarm })
        if (!opened.ok) return
        moved(null, opened.workflow)
        queue.wake(opened.workflow.id, 0)
      })
  }

  #joinNodes(clock: Clock): Nodes {
    const endpoints = this.#world.nodes.map((node) => node.endpoint(this.isAlive))
    const nodes = joinNodes({
      chainId: CHAIN_ID,
      readers: endpoints,
      senders: endpoints,
      agree: this.#world.agree,
      onDisagreement: this.#world.onAlarm,
      finality: this.#world.finality,
      pollMs: HEAD_POLL_MS,
      clock,
    })
    const { onSend, directory } = this.#world
    const send = (raw: Hex) => {
      onSend(raw, directory)
      return nodes.send(raw)
    }
    return { ...nodes, send: (raw: Hex) => this.#effect('send', () => send(raw)) }
  }

  #signer(signer: Signer): Signer {
    return {
      ...signer,
      signDigest: (digest, signal) =>
        this.#effect('sign', () => {
          this.#world.onAsk(digest)
          return signer.signDigest(digest, signal)
        }),
    }
  }

  #client(client: ModelClient): ModelClient {
    return {
      ...client,
      prepareWorkflow: (call) => this.#effect('prepare', () => client.prepareWorkflow(call)),
    }
  }
}
