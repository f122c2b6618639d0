import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { keccak256, stringToHex } from 'viem'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { systemClock } from '../../../src/clock.ts'
import type { AgentConfig, RunConfig } from '../../../src/config/config.ts'
import { invariant } from '../../../src/errors.ts'
import { exposureOf } from '../../../src/guard/checks/check-request.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { journalFile } from '../../../src/journal/sqlite/database.ts'
import { loadRolePolicy, positionOf } from '../../../src/keeper/policy/role-policy.ts'
import { openNodes, openService } from '../../../src/keeper/startup/connect.ts'
import { attest } from '../../../src/pipeline/attest.ts'
import { prepare } from '../../../src/pipeline/prepare.ts'
import { preparedWorkflow, workflowPrepareRequest } from '../../../src/service/contract/prepared-workflow.ts'
import { WORKFLOW_TYPES } from '../../../src/service/contract/workflow-types.ts'
import { createKmsSigner } from '../../../src/sign/kms.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { type FaultProxy, type Passing, startFaultProxy } from '../../support/fault-proxy.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { createRoleSession, type RoleSession } from '../../support/role-session.ts'
import { workflowOf } from '../../support/workflows.ts'
import { ATTACKS } from './all.ts'
import type { Aim, Attack } from './attack.ts'
import { expectedOf, isKnown, textOf } from './play.ts'

/** What the sandbox answered honestly to a request that an agent decided on. */
export type Captured = Aim & { readonly agent: AgentConfig; readonly receivedAtMs: number }

/** One attack on one workflow of the sandbox. */
export type Played = {
  readonly attack: string
  readonly workflowType: string
  readonly expected: string
  readonly state: string
  readonly check: string
}

/** The sandbox with every role's keeper, and the service between them in our hands. */
export type Stage = {
  readonly session: RoleSession
  readonly proxy: FaultProxy
  readonly rulesets: ReadonlyMap<string, { readonly agent: AgentConfig; readonly ruleset: Ruleset }>
  /**
   * Signatures that the KMS has logged so far, of anything but a challenge of the service's sign-in: that one comes from
   * the sandbox itself, and the ledger knows it by its kind.
   */
  readonly signatures: () => number
  readonly stop: () => Promise<void>
}

/** In this seed's first minute every type has its occasion. */
const SEED = 459

/** Start the sandbox, with a proxy before its service. */
export async function createStage(): Promise<Stage> {
  let proxy: FaultProxy | undefined
  const session = await createRoleSession(SCENARIOS.busy, SEED, {
    service: async (url) => {
      proxy = await startFaultProxy(url)
      return proxy.url
    },
  })
  invariant(proxy !== undefined, 'the session asks for its way to the service')
  const started = proxy
  const { config } = session
  const rulesets = new Map(
    config.agents.map((agent) => {
      const { ruleset } = loadRolePolicy(positionOf(agent), config)
      return [agent.signer.address.toLowerCase(), { agent, ruleset }] as const
    }),
  )
  const log = join(config.directory, 'sandbox', 'kms.jsonl')
  return {
    session,
    rulesets,
    proxy: started,
    signatures: () => {
      const challenges = challengesOf(config.directory)
      return readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): { operation: string; digest?: string } => JSON.parse(line))
        .filter(({ operation, digest }) => operation === 'Sign' && !challenges.has(`0x${digest}`)).length
    },
    stop: async () => {
      await session.stop()
      await started.stop()
    },
  }
}

/** The digests of challenges in the ledger of a keeper that rests. */
function challengesOf(directory: string): ReadonlySet<string> {
  const database = new DatabaseSync(journalFile(directory), { readOnly: true })
  try {
    const rows = database
      .prepare(`SELECT digest FROM digests WHERE json_extract(body, '$.kind') = 'challenge'`)
      .all()
    return new Set(rows.map(({ digest }) => String(digest)))
  } finally {
    database.close()
  }
}

/** Read a prepare request on its way, and what was answered; null for anything else. */
function capture(stage: Stage, { method, path, body }: Passing, text: string): Captured | null {
  if (method !== 'POST' || !path.endsWith('/workflows/prepare')) return null
  const request = workflowPrepareRequest.safeParse(JSON.parse(body))
  const answer = preparedWorkflow.safeParse(JSON.parse(text))
  if (!request.success || !answer.success || answer.data.preflight.status !== 'passed') return null
  const { principalAddress: self, workflowType: named, input } = request.data
  const held = stage.rulesets.get(self ?? '')
  const workflowType = WORKFLOW_TYPES.find((type) => type === named)
  if (held === undefined || self === undefined || workflowType === undefined) return null
  const asked = { workflowType, input } as Pick<Proposal, 'workflowType' | 'input'>
  const counted = exposureOf(asked, self, held.ruleset)
  if (!counted.ok) return null
  const proposal: Proposal = {
    ...asked,
    kind: 'attacked',
    subject: workflowType,
    occurrence: answer.data.requestId,
    exposure: counted.exposure,
    summary: 'attacked',
    reason: {},
  }
  return { ...held, proposal, self, answer: answer.data, receivedAtMs: systemClock.nowMs() }
}

/** What two answers have alike: their type, and the calls of it. */
const shapeOf = ({ proposal, answer }: Aim): string =>
  [
    proposal.workflowType,
    ...answer.transactions.map(({ calldata, target }) =>
      target === null ? 'creation' : calldata.slice(0, 10),
    ),
  ].join(' ')

/**
 * Let the agents work with an honest service until each workflow type has come by; what was asked and answered, the
 * newest of each shape. What is under way is carried to its end.
 */
export async function honestRun(stage: Stage, msMax: number): Promise<readonly Captured[]> {
  const found = new Map<string, Captured>()
  const wanted = new Set([...stage.rulesets.values()].flatMap(({ ruleset }) => [...ruleset.rules.keys()]))
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  stage.proxy.setRule((passing) => ({
    kind: 'rewrite',
    change: (text) => {
      const captured = capture(stage, passing, text)
      if (captured !== null) {
        found.set(shapeOf(captured), captured)
        wanted.delete(captured.proposal.workflowType)
        if (wanted.size === 0) resolve()
      }
      return text
    },
  }))
  const { keeper } = await stage.session.begin('live')
  const timer = setTimeout(resolve, msMax)
  await complete
  clearTimeout(timer)
  // Nothing new is prepared; what is in flight ends.
  stage.proxy.setRule(({ path }) =>
    path.endsWith('/workflows/prepare') ? { kind: 'status', status: 403 } : null,
  )
  await keeper.stop({ drainMs: 30_000 })
  stage.proxy.setRule(null)
  return [...found.values(), ...(await askForPause(stage))]
}

/** A pause needs bad debt, which a good minute does not have: ask for one as the asset manager would. */
async function askForPause(stage: Stage): Promise<readonly Captured[]> {
  const { config } = stage.session
  const manager = [...stage.rulesets.entries()].find(([, { agent }]) => agent.role === 'asset-manager')
  invariant(manager !== undefined, 'the sandbox staffs an asset manager')
  const [principalAddress] = manager
  const client = openService(config, systemClock)
  try {
    const restoreAfterTimestamp = String(Math.floor(systemClock.nowMs() / 1_000) + 600)
    for (const { address: vaultAddress } of config.deployment.vaults) {
      const request = {
        workflowType: 'role.asset_manager.vaultShareMobilityManagerAction',
        chainId: config.chain.id,
        principalAddress,
        input: { vaultAddress, action: 'pause', restoreAfterTimestamp, reason: 'an audit' },
      }
      const body = JSON.stringify(request)
      const { bytes } = await client.prepareWorkflow({ idempotencyKey: randomUUID(), bodyText: body })
      const passing = { method: 'POST', path: '/v1/workflows/prepare', headers: {}, body }
      const captured = capture(stage, passing, bytes)
      if (captured !== null) return [captured]
    }
    return []
  } finally {
    await client.close()
  }
}

/** Serve every attack that fits, answer by answer, to the client, the rules, the nodes and the keys that a keeper would use. */
export async function playAll(
  stage: Stage,
  captured: readonly Captured[],
  onPlayed: () => void,
): Promise<readonly Played[]> {
  const served = { text: '' }
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(served.text))
  })
  const port = await listenOnLoopback(server)
  const { config } = stage.session
  const client = openService(
    { ...config, service: { ...config.service, url: `http://127.0.0.1:${port}` } },
    systemClock,
  )
  const nodes = await openNodes(config, systemClock)
  const played: Played[] = []
  try {
    for (const aim of captured) {
      const signer = await createKmsSigner(kmsOf(config, aim.agent))
      for (const attack of ATTACKS) {
        const hostile = attack.on(aim)
        const expected = expectedOf(attack, aim, hostile)
        if (hostile === null || !isKnown(expected)) continue
        served.text = textOf(hostile)
        const nowMs = () => aim.receivedAtMs
        const post = async (idempotencyKey: string, bodyText: string) =>
          client.prepareWorkflow({ idempotencyKey, bodyText })
        let step = await prepare(requestedOf(aim, config.chain.id), { nowMs, post })
        if (step.type === 'moved' && step.workflow.state === 'prepared') {
          step = await attest(step.workflow, {
            nowMs,
            ruleset: aim.ruleset,
            nodes,
            signer,
            journal: {
              enterDigest: async () => {},
              ordered: async () => {},
              writeBound: async (each) => each,
            },
            gate: () => ({ closed: false, paused: false }),
            alarm: () => undefined,
          })
        }
        const { workflow } = step.type === 'wait' ? { workflow: undefined } : step
        played.push({
          attack: attack.name,
          workflowType: aim.proposal.workflowType,
          expected,
          state: workflow?.state ?? step.type,
          check: workflow?.note?.check ?? '',
        })
      }
      onPlayed()
    }
  } finally {
    await nodes.close()
    await client.close()
    server.close()
    server.closeAllConnections()
  }
  return played
}

function requestedOf({ proposal, ruleset, self }: Aim, chainId: number): Workflow {
  const { prepared: _none, ...bare } = workflowOf('requested')
  const body = JSON.stringify({ workflowType: proposal.workflowType, chainId, input: proposal.input })
  return {
    ...bare,
    role: ruleset.role,
    chainId,
    signer: self,
    proposal,
    request: { idempotencyKey: bare.id, body },
  }
}

function kmsOf({ kms }: RunConfig, { signer }: AgentConfig): Parameters<typeof createKmsSigner>[0] {
  invariant(kms !== undefined && signer.kind === 'kms', 'the sandbox signs with its KMS')
  const { region, endpoint, accessKeyId, secretAccessKey } = kms
  invariant(accessKeyId !== undefined && secretAccessKey !== undefined, 'the KMS of the sandbox takes a key')
  return {
    region,
    keyId: signer.keyId,
    address: signer.address,
    ...(endpoint === undefined ? {} : { endpoint }),
    credentials: () => ({
      accessKeyId: accessKeyId.reveal(),
      secretAccessKey: secretAccessKey.reveal(),
    }),
  }
}

/** The key of the first live agent, as something that a name is signed with: the KMS writes it into its log. */
export async function keyOf(stage: Stage): Promise<(name: string) => Promise<void>> {
  const { config } = stage.session
  const [agent] = config.agents
  invariant(agent !== undefined, 'the sandbox staffs agents')
  const signer = await createKmsSigner(kmsOf(config, agent))
  return async (name) => void (await signer.signDigest(keccak256(stringToHex(name))))
}

/** Let the agents decide with a service that answers each prepare request with another attack. */
export async function hostileRun(stage: Stage, ms: number): Promise<readonly Played[]> {
  const attacks = new Map<string, { readonly attack: Attack; readonly expected: string }>()
  const counts = new Map<string, number>()
  stage.proxy.setRule((passing) => ({
    kind: 'rewrite',
    change: (text) => {
      const aim = capture(stage, passing, text)
      if (aim === null) return text
      const key = String(passing.headers['idempotency-key'])
      const fitting = ATTACKS.flatMap((attack) => {
        const served = attack.on(aim)
        const expected = expectedOf(attack, aim, served)
        return served === null || !isKnown(expected) ? [] : [{ attack, expected, served }]
      })
      const shape = shapeOf(aim)
      const count = counts.get(shape) ?? 0
      // A step that shares no factor with the number of attacks meets all of them.
      const chosen = fitting[(count * 37) % fitting.length]
      invariant(chosen !== undefined, 'an attack fits every answer')
      counts.set(shape, count + 1)
      attacks.set(key, chosen)
      return textOf(chosen.served)
    },
  }))
  const { keeper, events } = await stage.session.begin('live')
  await systemClock.sleep(ms)
  await keeper.stop({ drainMs: 0 })
  stage.proxy.setRule(null)
  return events.flatMap((event) => {
    const played = event.type === 'workflow' ? attacks.get(event.id) : undefined
    if (event.type !== 'workflow' || played === undefined) return []
    if (['discovered', 'requested', 'prepared'].includes(event.state)) return []
    const { attack, expected } = played
    const { workflowType, state, check = '' } = event
    return [{ attack: attack.name, workflowType, expected, state, check }]
  })
}
