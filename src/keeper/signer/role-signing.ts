import { type Address, type Hex, serializeSignature } from 'viem'
import type { Clock } from '../../clock.ts'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { invariant, type Refusal, RolekeeperError } from '../../errors.ts'
import type { UsedParts } from '../../guard/limits/budget.ts'
import type { Journal, LedgerEntry } from '../../journal/journal.ts'
import type { Accounts } from '../../journal/sqlite/accounts.ts'
import type { Stages } from '../../pipeline/pipeline.ts'
import type { ServiceClient } from '../../service/client.ts'
import { createWalletSession, type WalletSession } from '../../service/session.ts'
import { createKeystoreSigner } from '../../sign/keystore.ts'
import { createKmsSigner, type KmsSigner } from '../../sign/kms.ts'
import { mayComeBack } from '../../sign/kms-errors.ts'
import type { Signer } from '../../sign/signer.ts'
import { signStopped, untilClosed } from '../../sign/until-closed.ts'
import { type AccountsMetrics, createAccountsWriter } from '../money/accounts-writer.ts'
import { createExperience, type RoleExperience } from '../money/experience.ts'
import { createLossBudget } from '../money/loss-budget.ts'
import { createRivals, type Rivals } from '../money/rivals.ts'
import { pricesOf } from '../money/shadow-scores.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import type { Ground, Records, Runtime, Turns } from '../ports.ts'
import { createLiveStages } from '../stages/live.ts'
import { createStandingAllowances } from './standing-allowances.ts'

/** The key of a live agent. It opens by itself; until then each request for a signature throws `sign.not_open`. */
type RoleKey = {
  readonly signer: Signer
  /** Prove that it is the pinned key; once is enough. Throws what opening it throws, and the reason of `stop`. */
  readonly open: (stop: AbortSignal) => Promise<void>
  /** Ask where it is whether it is there and may sign; `outcome` then says so. A key that was never open is not asked. */
  readonly ask: () => Promise<void>
  /** What the last call of where it is came to. */
  readonly outcome: () => KeyOutcome
}

/** What is over once the key answers anything; what it refuses to sign is over once it signs. */
const NO_ANSWER = ['kms.unreachable', 'kms.timeout']

/**
 * What a key's last call came to, `ok` or an error's code; since when its calls come to that, and when the last was,
 * milliseconds of the monotonic clock.
 */
export type KeyOutcome = { readonly code: string; readonly sinceMs: number; readonly lastMs: number }

/** What a live role has and one in shadow has not: its key, and what only a key opens. */
export type RoleSigning = {
  readonly key: RoleKey
  readonly session: WalletSession
  readonly stages: Stages
  /** Look at what stands, what was lost and what moved, where that is due; nothing waits for it. */
  readonly lookBeside: () => void
  /** Why nothing new may begin, as it is not known what was lost, or what came of earlier work; null where it is. */
  readonly unread: () => Refusal | null
  /** What part of the loss budget was used when it was looked at last; empty where there is none. */
  readonly lossUsed: () => UsedParts
  /** What became of what the role said before; a role that explores waits until it is read. */
  readonly experience: RoleExperience['now']
  readonly experienced: RoleExperience['ready']
  /** What rivals gave of late. */
  readonly rivals: Rivals['now']
}

/** What a live role is joined from. */
type SigningDeps = Pick<Runtime, 'config' | 'clock' | 'log' | 'alarm'> &
  Ground &
  Records &
  Turns & {
    readonly accounts: Accounts
    readonly client: ServiceClient
    readonly onKmsCall: (outcome: string, tookMs: number) => void
    readonly metrics: AccountsMetrics
  }

/** Join what a live role signs for to its key. Nothing is asked yet: its workflows are followed before the key opens. */
export function createRoleSigning(
  { agent, does, policy, ruleset, approval, apart }: RolePolicy,
  { config, clock, log, onKmsCall, metrics, ...deps }: SigningDeps,
): RoleSigning {
  const { journal, nodes, client, gate } = deps
  const key = createRoleKey(agent, config, clock, onKmsCall)
  const { signer } = key
  const attestDeps = { journal, nowMs: clock.nowMs, isClosed: () => gate().closed }
  const session = createWalletSession(
    { address: signer.address, chainId: nodes.chainId },
    {
      client,
      clock,
      challenge: config.service.assumptions.challenge,
      attest: (digest) => attestChallenge(digest, signer, attestDeps),
    },
  )
  const standing = createStandingAllowances(signer.address, ruleset.deployment, { nodes, clock, log })
  const stages = createLiveStages({
    ...deps,
    session,
    standing,
    nowMs: clock.nowMs,
    monotonicMs: clock.monotonicMs,
    clock,
    signer,
    ruleset,
    approval,
    apart,
    cap: config.limits,
    fees: policy.fees,
    window: agent.signer.window,
  })
  const { limits, sharing = [] } = ruleset
  const { loss } = limits
  const prices = pricesOf({ policy, ruleset })
  // What is lost counts by the limits' own prices, which are careful; accounts by one price a token.
  const { pricesUsdMicros } = limits
  const owns = { signer: signer.address, sharing, ...prices, pricesUsdMicros }
  const { role } = agent
  const lossBudget =
    loss === undefined ? null : createLossBudget({ role, loss, ...owns }, { ...deps, clock, log })
  const accounts = createAccountsWriter(
    { role, signer: signer.address, worksFor: does.worksFor, ...prices },
    { ...deps, clock, log, metrics },
  )
  const experience = createExperience(
    { role, chainId: nodes.chainId, signer: signer.address },
    { ...deps, clock, log, worksFor: does.worksFor },
  )
  const rivals = createRivals(config.agents, ruleset.deployment, { ...deps, clock, log })
  const lookBeside = () => {
    standing.begin()
    lossBudget?.look()
    accounts.begin()
    experience.begin()
    if (does.races) rivals.begin()
  }
  return {
    key,
    session,
    stages,
    lookBeside,
    unread: () => lossBudget?.unread() ?? (does.explores === true ? experience.unread() : null),
    lossUsed: () => lossBudget?.used() ?? {},
    experience: experience.now,
    experienced: does.explores === true ? experience.ready : () => Promise.resolve(),
    rivals: rivals.now,
  }
}

function createRoleKey(
  agent: AgentConfig,
  config: Pick<RunConfig, 'kms' | 'environment' | 'store'>,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  onCall: SigningDeps['onKmsCall'],
): RoleKey {
  const { address, ...where } = agent.signer
  let opened: ProvableSigner | undefined
  let outcome: KeyOutcome = { code: 'ok', sinceMs: monotonicMs(), lastMs: monotonicMs() }
  // What asking found wrong is over once asking finds nothing.
  let isAsked = false
  const note = (code: string, byAsking = false) => {
    // Its credentials may have been replaced.
    if (code === 'kms.denied') config.store?.stale(config.kms?.secretAccessKey)
    const lastMs = monotonicMs()
    outcome = { code, sinceMs: code === outcome.code ? outcome.sinceMs : lastMs, lastMs }
    isAsked = byAsking
  }
  return {
    signer: {
      address,
      keyId: where.kind === 'kms' ? where.keyId : where.path,
      signDigest: async (digest, signal) => {
        if (opened === undefined) throw notOpen(address)
        return opened.signDigest(digest, signal)
      },
    },
    open: async (stop) => {
      const onSigned = (code: string, tookMs: number) => {
        note(code)
        onCall(code, tookMs)
      }
      try {
        opened ??= await openSigner(agent, config, onSigned, stop)
        note('ok')
      } catch (error) {
        note(error instanceof RolekeeperError ? error.code : 'unexpected')
        throw error
      }
    },
    ask: async () => {
      if (opened === undefined) return
      const code = await opened.prove().then(
        () => 'ok',
        (error: unknown) => (error instanceof RolekeeperError ? error.code : 'unexpected'),
      )
      if (code !== 'ok' || isAsked || NO_ANSWER.includes(outcome.code)) note(code, true)
    },
    outcome: () => outcome,
  }
}

/** A signer that can be proven again; a keystore, once read, is as it is. */
type ProvableSigner = Signer & Pick<KmsSigner, 'prove'>

const notOpen = (address: Address) =>
  new RolekeeperError('sign.not_open', `The key of ${address} is not open yet.`, {
    fix: 'see why the role is down; the key is tried again by itself.',
    facts: { address },
    retry: 'later',
  })

/**
 * Open the signer of one agent, proven to be the pinned key.
 * @param onCall called for each signature: `ok` or the error's code, and milliseconds.
 */
export async function openSigner(
  agent: AgentConfig,
  config: Pick<RunConfig, 'kms' | 'environment'>,
  onCall: (outcome: string, tookMs: number) => void,
  stop: AbortSignal,
): Promise<ProvableSigner> {
  const { signer } = agent
  if (signer.kind === 'keystore') {
    const { path, password, address } = signer
    const { environment } = config
    const keystore = await createKeystoreSigner({ path, password: password.reveal(), address, environment })
    return timed({ ...keystore, prove: async () => undefined }, onCall)
  }
  const settings = kmsSettingsOf(agent, config)
  invariant(settings !== null, 'a signer that is no keystore is a KMS key')
  return timed(await createKmsSigner(settings, stop), onCall)
}

/** Where the KMS key of an agent is, and as whom it is asked; null for a keystore. Pure. */
export function kmsSettingsOf(
  { signer }: AgentConfig,
  { kms }: Pick<RunConfig, 'kms'>,
): Parameters<typeof createKmsSigner>[0] | null {
  if (signer.kind === 'keystore') return null
  invariant(kms !== undefined, 'a configuration with a KMS signer names its KMS')
  const { accessKeyId, secretAccessKey, endpoint, region } = kms
  return {
    keyId: signer.keyId,
    address: signer.address,
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : {
          credentials: () => ({
            accessKeyId: accessKeyId.reveal(),
            secretAccessKey: secretAccessKey.reveal(),
          }),
        }),
  }
}

const timed = (
  signer: ProvableSigner,
  onCall: (outcome: string, tookMs: number) => void,
): ProvableSigner => ({
  ...signer,
  signDigest: async (digest, signal) => {
    const startedAtMs = performance.now()
    try {
      const signature = await signer.signDigest(digest, signal)
      onCall('ok', performance.now() - startedAtMs)
      return signature
    } catch (error) {
      onCall(error instanceof RolekeeperError ? error.code : 'unexpected', performance.now() - startedAtMs)
      throw error
    }
  },
})

/**
 * Sign the digest of a wallet challenge that was recognised as one: into the ledger first, like any other digest.
 * @returns 65 bytes, r then s then v. Throws RolekeeperError `sign.stopped` while the gate is closed.
 */
async function attestChallenge(
  digest: Hex,
  signer: Signer,
  deps: {
    readonly journal: Pick<Journal, 'enterDigest' | 'ordered'>
    readonly nowMs: () => number
    readonly isClosed: () => boolean
  },
): Promise<Hex> {
  const entry: LedgerEntry = {
    digest,
    kind: 'challenge',
    signer: signer.address,
    workflowId: null,
    nonce: null,
    atMs: deps.nowMs(),
  }
  await deps.journal.enterDigest(entry)
  await deps.journal.ordered([entry])
  if (deps.isClosed()) throw signStopped()
  try {
    return serializeSignature(await untilClosed(deps.isClosed, (signal) => signer.signDigest(digest, signal)))
  } catch (error) {
    throw error instanceof RolekeeperError && mayComeBack(error) ? forNow(error) : error
  }
}

/** What a key lacks for now ends no workflow that waits for its wallet's session. */
const forNow = ({ code, shortMessage, fix, facts }: RolekeeperError) =>
  new RolekeeperError(code, shortMessage, {
    ...(fix === undefined ? {} : { fix }),
    facts,
    retry: 'later',
  })
