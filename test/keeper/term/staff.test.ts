import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { systemClock } from '../../../src/clock.ts'
import type { AgentConfig } from '../../../src/config/config.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import type { Watched } from '../../../src/keeper/policy/candidates.ts'
import { admitPolicy } from '../../../src/keeper/policy/loosening.ts'
import { compilePolicy, type RolePolicy } from '../../../src/keeper/policy/role-policy.ts'
import { createStaff, type StaffDeps } from '../../../src/keeper/term/staff.ts'
import { createLog } from '../../../src/ops/log.ts'
import { type ChainView, watchChain } from '../../../src/pipeline/transactions/chain-view.ts'
import { ASSUMPTIONS } from '../../../src/service/contract/assumptions.ts'
import type { Attempt } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { deployment } from '../../guard/kinds.ts'
import { newDirectory } from '../../support/directory.ts'
import { createModelChain } from '../../support/model-chain.ts'
import { attemptOf, SIGNER, slotOf, workflowOf } from '../../support/workflows.ts'

const CHAIN = 31_337
const GWEI = 1_000_000_000n
const [does] = agents.filter(({ role }) => role === 'allocator')
const away = async () => Promise.reject(new RolekeeperError('node.unreachable', 'away', { retry: 'later' }))

const folder = newDirectory()
const file = join(folder, 'allocator.yaml')
const agent: AgentConfig = {
  role: 'allocator',
  mode: 'live',
  policy: file,
  signer: { kind: 'kms', keyId: 'key', address: SIGNER, window: 4 },
}

/** The shipped policy of an allocator that offers so much at most. */
function policyOf(maxFeePerGas: string): RolePolicy {
  if (does === undefined) throw new TypeError('there is an allocator')
  const shared = readFileSync('policies/shared/fees-and-freshness.yaml', 'utf8')
  const text = readFileSync('policies/allocator.yaml', 'utf8')
  writeFileSync(join(folder, 'shared.yaml'), shared.replace('"30 gwei"', `"${maxFeePerGas}"`))
  writeFileSync(file, text.replace(/^include: .*$/m, 'include: ./shared.yaml'))
  const ground = { environment: 'production' as const, deployment, service: { assumptions: ASSUMPTIONS } }
  return { agent, does, apart: [], ...compilePolicy(loadWithIncludes(file), does, ground) }
}

let journal: Journal
let chain: ChainView
let sent: string[]
let onBarrier: () => Promise<void>
beforeEach(async () => {
  journal = openSqliteJournal(mkdtempSync(join(folder, 'journal-')))
  sent = []
  onBarrier = async () => {}
  const model = createModelChain()
  const before = Array.from({ length: 7 }, (_, nonce) => ({ from: SIGNER, nonce }))
  model.mine(before, [], [], [], [], [])
  chain = await watchChain({
    scope: '',
    nowMs: () => 1_000,
    clock: systemClock,
    journal,
    signers: [SIGNER],
    safe: () => {},
    onHead: () => {},
    onFailed: () => {},
    alarm: () => {},
    nodes: { ...model.nodes, chainId: CHAIN, send: async () => [] },
  })
})
afterEach(async () => {
  await chain.stop()
  await journal.close()
})

/** A staff of the allocator alone, whose service and nodes do not answer; what it sends is noted. */
function staffOf(candidate: Watched) {
  const barrier = async () => {
    await onBarrier()
    await journal.barrier()
  }
  const send = async (raw: string) => {
    sent.push(raw)
    return []
  }
  const shared = {
    clock: { ...systemClock, nowMs: () => 1_000 },
    log: createLog({ level: 'silent', secrets: [] }),
    config: {
      agents: [],
      environment: 'production',
      deployment,
      chain: { id: CHAIN },
      service: { assumptions: ASSUMPTIONS },
    },
    journal: new Proxy(journal, {
      get: (target, name) => {
        const value: unknown = name === 'barrier' ? barrier : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    }),
    nodes: { chainId: CHAIN, calls: away, simulate: away, codeHashes: away, send },
    client: new Proxy({}, { get: () => away }),
    chain,
    gas: { tipWei: () => null, noopGas: () => 21_000n, dataFeeWei: () => 0n, dataFees: () => undefined },
    urgentOf: () => [],
    loosens: [],
    gate: () => ({ closed: false, paused: false }),
    signers: { reasonsOf: () => [], safe: () => {} },
    mail: { everyMs: 250, answers: async () => [] },
    metrics: { kmsCalled: () => {} },
    alone: (work: () => Promise<unknown>) => work(),
    emit: () => {},
    alarm: () => {},
    onState: () => {},
    onOpened: () => {},
    onMove: () => {},
  }
  return createStaff([candidate], shared as unknown as StaffDeps)
}

/** A workflow whose payload at the next nonce has come so far, cleared under some rules. */
async function inFlight(rulesetHash: string, attempt: Partial<Attempt>, closing?: string): Promise<Workflow> {
  const { clearance } = workflowOf('cleared')
  if (clearance === undefined) throw new TypeError('no clearance')
  const whole = { role: 'allocator', clearance: { ...clearance, rulesetHash, notAfterMs: 10 ** 9 } } as const
  await journal.open(workflowOf('cleared', whole))
  const slot = slotOf({ attempts: [attemptOf(attempt)], ...(closing === undefined ? {} : { closing }) })
  const claimed = await journal.claim(workflowOf('in_flight', { ...whole, slots: [slot] }), null)
  if (claimed === 'lost') throw new TypeError('lost')
  return claimed
}

it('offers nothing by a policy that may not work, for what is public of its role either', async () => {
  const fees = { maxFeePerGasWei: 20n * GWEI, maxPriorityFeePerGasWei: GWEI }
  const noop = { ...fees, purpose: 'noop', state: 'sent', raw: '0x02', sentAtBlock: 1n } as const
  const deps = {
    journal,
    config: { environment: 'production' as const },
    loosens: [],
    clock: systemClock,
    log: { info: () => {} },
  }
  const before = policyOf('20 gwei')
  await admitPolicy(before, deps)
  // It is due for a higher offer, and is at all that the policy allows.
  const stuck = await inFlight(before.ruleset.hash, noop, 'expired')
  const staff = staffOf({ ...before, policy: policyOf('30 gwei'), tightened: 0 })
  await staff.admit()
  await staff.open()
  expect(staff.states()).toMatchObject([{ state: { type: 'down', reason: { code: 'policy.loosened' } } }])
  expect(await staff.stagesOf(stuck).carry(stuck)).toMatchObject({ type: 'wait' })
  await staff.stop()
  // Taken up by its name, it raises.
  await journal.setValue(`policy:allocator:${SIGNER}`, null)
  const loosened = staffOf({ ...before, policy: policyOf('30 gwei'), tightened: 0 })
  await loosened.admit()
  expect(await loosened.stagesOf(stuck).carry(stuck)).toMatchObject({
    workflow: { slots: [{ attempts: [{}, { purpose: 'noop', maxFeePerGasWei: 22_500_000_000n }] }] },
  })
  await loosened.stop()
})

it('sends nothing of a step that is under way when a narrower policy takes over', async () => {
  const was = policyOf('30 gwei')
  const candidate: Watched = { ...was, policy: was, tightened: 0 }
  const staff = staffOf(candidate)
  await staff.admit()
  const signed = await inFlight(was.ruleset.hash, { state: 'signed', raw: '0x02' })
  const written = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  onBarrier = () => {
    asked.resolve()
    return written.promise
  }
  const step = staff.stagesOf(signed).carry(signed)
  await asked.promise
  onBarrier = async () => {}
  candidate.policy = policyOf('20 gwei')
  const renewed = staff.renew(agent)
  written.resolve()
  expect(await step).toMatchObject({ type: 'wait' })
  expect(sent).toEqual([])
  await renewed
  expect(await staff.stagesOf(signed).carry(signed)).toMatchObject({
    workflow: { slots: [{ closing: 'ruleset_changed', attempts: [{}, { purpose: 'noop' }] }] },
  })
  await staff.stop()
})
