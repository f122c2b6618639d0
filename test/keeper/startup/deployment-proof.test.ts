import { afterAll, beforeAll, expect, test } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { proveViews } from '../../../src/keeper/policy/prove-views.ts'
import { createDeploymentProof, gateBy } from '../../../src/keeper/startup/deployment-proof.ts'
import { stopped } from '../../../src/ops/control.ts'
import { createLog } from '../../../src/ops/log.ts'
import type { Deployment } from '../../../src/service/contract/deployment.ts'
import { sections } from '../../guard/fixtures.ts'
import { createScene, type Scene } from '../../guard/scene.ts'

const log = createLog({ level: 'silent', secrets: [] })

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(async () => {
  await scene?.stop()
})

/** Prove a deployment as a keeper does, by the contracts of the scene. */
function proofOf(deployment: Deployment) {
  const [now, alarms] = [{ ms: 1_000 }, [] as string[]]
  const nodes = { ...scene.nodes }
  const deps = { nodes, log, clock: { monotonicMs: () => now.ms } }
  const proof = createDeploymentProof(deployment, { ...deps, alarm: ({ code }) => alarms.push(code) })
  return { proof, now, alarms, nodes }
}

const ofDecimals = (decimals: number): Deployment => ({
  ...scene.deployment,
  assets: scene.deployment.assets.map((asset) => (asset.symbol === 'sETH' ? { ...asset, decimals } : asset)),
})

test('arms no role where an asset of 18 decimals is pinned with 8: $50,000 for 10⁻⁸ of it was cleared', async () => {
  const { proof, alarms } = proofOf(ofDecimals(8))
  await expect(proof.prove()).rejects.toMatchObject({
    code: 'deployment.units_differ',
    shortMessage:
      'The number of decimals of sETH is 8 by the deployment; the chain says 18: see deployment.assets.',
  })
  expect(proof.disproven()?.check).toBe('deployment_units_differ')
  expect(alarms).toEqual(['deployment.units_differ'])
  const gate = gateBy(proof, () => ({ closed: false, paused: false }))
  expect(stopped(gate())).toMatchObject({ check: 'deployment_units_differ' })
})

test('proves again every five minutes beside decisions, and soon again what was disproven', async () => {
  const { proof, now, alarms, nodes } = proofOf(scene.deployment)
  const settle = () => proof.prove().catch(({ code }: RolekeeperError) => code)
  expect([await settle(), proof.disproven()]).toEqual([undefined, null])
  expect(stopped(gateBy(proof, () => ({ closed: false, paused: false }))())).toBeNull()
  const honest = nodes.calls
  nodes.calls = async (calls) => calls.map(() => null)
  now.ms += 299_999
  proof.again()
  expect(await settle()).toBeUndefined()
  now.ms += 1
  proof.again()
  expect([await settle(), proof.disproven()?.check]).toEqual([
    'deployment.units_differ',
    'deployment_units_differ',
  ])
  nodes.calls = honest
  now.ms += 10_000
  proof.again()
  expect([await settle(), proof.disproven()]).toEqual([undefined, null])
  expect(alarms).toEqual(['deployment.units_differ'])
})

test('keeps what was proven where the nodes do not answer, and asks again with the next look', async () => {
  const { proof, now, nodes } = proofOf(scene.deployment)
  await proof.prove()
  nodes.calls = () => Promise.reject(new RolekeeperError('node.quorum_missing', 'Too few answer.'))
  now.ms += 300_000
  proof.again()
  await expect(proof.prove()).rejects.toMatchObject({ code: 'node.quorum_missing' })
  expect(proof.disproven()).toBeNull()
  await expect(proof.prove()).rejects.toMatchObject({ code: 'node.quorum_missing' })
})

test('refuses a policy with a view that the chain does not have, at its place', async () => {
  const { nodes, ruleset, deployment } = scene
  const { guard } = sections
  await proveViews(nodes, ruleset, guard)
  const without = { ...ruleset, deployment: { ...deployment, markets: [] } }
  const index = guard.views.findIndex((view) => view.includes('read()'))
  await expect(proveViews(nodes, without, guard)).rejects.toMatchObject({
    code: 'policy.guard_invalid',
    facts: { path: `guard.views[${index}]` },
  })
  const fact = {
    target: '$contract.registry',
    function: 'function closeFactor() view returns (uint256)',
    args: [],
  }
  await expect(proveViews(nodes, ruleset, { ...guard, facts: { closeFactorBps: fact } })).rejects.toThrow(
    'guard.facts.closeFactorBps.function: no contract of the deployment answers closeFactor()',
  )
})
