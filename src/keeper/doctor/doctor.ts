import type { Nodes } from '../../chain/nodes.ts'
import { type Clock, endsWithin } from '../../clock.ts'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Weakness } from '../../guard/policy/lints.ts'
import { loadRolePolicy, positionOf, type RolePolicy } from '../policy/role-policy.ts'
import { farFromShipped } from '../policy-tools/file.ts'
import { lintsOf } from '../policy-tools/lints.ts'
import { openNodes, openService } from '../startup/connect.ts'
import { ANSWER_MS_MAX } from '../startup/service.ts'
import { judgeCharges } from './checks/charges.ts'
import { judgeClock } from './checks/clock.ts'
import { examineDeployment, judgeOracles } from './checks/deployment.ts'
import { examineDirectory } from './checks/directory.ts'
import { judgeEligibility } from './checks/eligibility.ts'
import { examineKeys } from './checks/keys.ts'
import { examineLastRun } from './checks/last-run.ts'
import { judgeMoney } from './checks/money.ts'
import { examineNodes } from './checks/nodes.ts'
import { judgePolicy } from './checks/policy.ts'
import { examinePorts } from './checks/ports.ts'
import { examineRedis } from './checks/redis.ts'
import { examineScopes, examineService, serviceAheadMs } from './checks/service.ts'
import { examineSources } from './checks/sources.ts'
import { examineWebhook } from './checks/webhook.ts'
import { type Check, type Finding, failedBy, passed, warned } from './finding.ts'
import { readWorld, type World } from './world.ts'

/** Nobody waits longer for one look. */
const LOOK_MS_MAX = ANSWER_MS_MAX + 2_000

/**
 * Look at everything that can be known before the first signature, all at once. Nothing is signed, sent or written, but for a
 * file in the state's folder that is taken away again. Never throws: what cannot be looked at is a finding.
 */
export async function examine(config: RunConfig, clock: Clock): Promise<readonly Finding[]> {
  const client = openService(config, clock)
  const look = createLook(clock)
  try {
    const policies = config.agents.map((agent) => policyOf(agent, config))
    const loaded = policies.flatMap(({ policy }) => policy ?? [])
    const keys = examineKeys(config, clock)
    const nodes = examineNodes(config, clock.nowMs)
    const all = await Promise.all([
      look('clock', () => examineClock(config, clock, { keys, nodes })),
      look('directory', async () => [examineDirectory(config)]),
      look('port', () => examinePorts(config)),
      look('node', async () => (await nodes).findings),
      look('code', () => examineChain(config, clock, policies)),
      look('service', () => examineService(config, client)),
      look('scopes', () => examineScopes(config, client)),
      look('key', async () => (await keys).map(({ finding }) => finding)),
      look('source', () => examineSources(config, loaded, clock)),
      look('webhook', () => examineWebhook(config, clock)),
      look('redis', () => examineRedis(config)),
      look('limits', () => examineLastRun(config, loaded)),
    ])
    return [...policies.flatMap(({ findings }) => findings), ...all.flat()]
  } finally {
    await client.close()
  }
}

/** One look: in time, and whatever happens in it a finding. */
const createLook =
  (clock: Clock) =>
  async (check: Check, work: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> => {
    try {
      const found = work()
      if (await endsWithin(found, LOOK_MS_MAX, clock)) return await found
      const message = `It was not known within ${LOOK_MS_MAX / 1_000} s.`
      return [warned(check, '', { code: 'doctor.late', message, fix: 'ask again; see what else is said.' })]
    } catch (error) {
      return [failedBy(check, '', error)]
    }
  }

/** What is under way for other looks, and says what time it is as well. */
type Timely = {
  readonly keys: ReturnType<typeof examineKeys>
  readonly nodes: ReturnType<typeof examineNodes>
}

async function examineClock(
  config: RunConfig,
  clock: Clock,
  { keys, nodes }: Timely,
): Promise<readonly Finding[]> {
  const [service, examined, { headMs }] = await Promise.all([serviceAheadMs(config, clock), keys, nodes])
  const kms = examined.find(({ aheadMs }) => aheadMs !== null)?.aheadMs ?? null
  return [judgeClock({ nowMs: clock.nowMs(), headMs, servers: { 'the service': service, 'the KMS': kms } })]
}

type ExaminedPolicy = { readonly policy: RolePolicy | null; readonly findings: readonly Finding[] }

/** Load a policy as a start does, and lint it. */
function policyOf(agent: AgentConfig, config: RunConfig): ExaminedPolicy {
  const { role, policy: file } = agent
  try {
    const policy = loadRolePolicy(positionOf(agent), config)
    const yaml = loadWithIncludes(file)
    const lints = lintsOf(yaml, policy, new Map()).map(({ problem, fix }) =>
      warned('policy', role, { code: 'policy.weak', message: `${file}: ${problem}.`, fix }),
    )
    const findings = [...lints, ...farFindings(file, farFromShipped(yaml, policy), role)]
    return { policy, findings: findings.length > 0 ? findings : [passed('policy', role, `${file} loads.`)] }
  } catch (error) {
    return { policy: null, findings: [failedBy('policy', role, error)] }
  }
}

function farFindings(file: string, far: readonly Weakness[], role: string): readonly Finding[] {
  if (far.length === 0) return []
  const message = `${file}: far from the shipped policy: ${far.map(({ path }) => path.join('.')).join(', ')}.`
  const fix = 'rolekeeper policy check says how far, and what that may cost; leave what is meant.'
  return [warned('policy', role, { code: 'policy.far', message, fix })]
}

/** Look at what the chain says: of the deployment, and of what policies say. Without nodes nothing of it is known. */
async function examineChain(
  config: RunConfig,
  clock: Clock,
  policies: readonly ExaminedPolicy[],
): Promise<readonly Finding[]> {
  let nodes: Nodes
  try {
    nodes = await openNodes(config, clock)
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    const message = `The contracts were not asked: ${error.shortMessage}`
    return [warned('code', '', { code: error.code, message, fix: 'mend the nodes first.' })]
  }
  try {
    const [deployed, world] = await Promise.all([
      examineDeployment(nodes, config.deployment),
      readWorld(nodes, config),
    ])
    // Prices by the wrong symbols or decimals would blame every policy.
    const isKnown = deployed.every(({ check, state }) => state !== 'failing' || check === 'code')
    const prices: World['prices'] = isKnown ? world.prices : new Map()
    const judged = { ...world, prices, sizeUsdMicros: isKnown ? world.sizeUsdMicros : null }
    return [
      ...deployed,
      ...judgeOracles(world),
      ...judgeCharges(world),
      ...policies.flatMap(({ policy }) =>
        policy === null ? [] : [...judgePolicy(policy, judged), ...judgeMoney(policy, config, judged)],
      ),
      ...config.agents.map((agent) => judgeEligibility(agent, config.agents, world)),
    ]
  } finally {
    await nodes.close()
  }
}
