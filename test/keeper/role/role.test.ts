import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import type { NavReporterPolicy } from '../../../agents/nav-reporter/policy.ts'
import { checkRunConfig } from '../../../src/config/config.ts'
import { parseYaml } from '../../../src/config/yaml.ts'
import { loadRolePolicy, positionOf } from '../../../src/keeper/policy/role-policy.ts'

const env = {
  ROLEKEEPER_NODE_A: 'https://a.example',
  ROLEKEEPER_NODE_B: 'https://b.example',
  ROLEKEEPER_NODE_SEND: 'https://send.example',
  ROLEKEEPER_SECRET_KEY: 'secret-key-0123456789',
}
const NAMED = ['fund', 'vault'].flatMap((name) =>
  ['Administrator', 'Custodian', 'Valuer'].map((of) => name + of),
)

/** The example's configuration with sources of these names, asked to staff the NAV reporter. */
function load(
  names: readonly string[],
  policy = 'policies/nav-reporter.yaml',
  fileOf = (name: string) => name,
) {
  const sources = names.map((name) => `  - { name: ${name}, file: ${fileOf(name)}.csv }`)
  const text = [readFileSync('config/example.yaml', 'utf8'), 'sources:', ...sources, ''].join('\n')
  const config = checkRunConfig(parseYaml('run.yaml', text), resolve('config'), {
    env,
    isWellKnown: () => false,
  })
  const [agent] = config.agents
  if (agent === undefined) throw new TypeError('the example has no agent')
  const reporter = { ...agent, mode: 'live' as const, role: 'nav-reporter', policy: resolve(policy) }
  return loadRolePolicy(positionOf(reporter), { ...config, agents: [reporter] })
}

it('starts no role whose policy takes a value from a source that is nowhere', () => {
  expect(() => load(NAMED.filter((name) => name !== 'fundCustodian'))).toThrow(
    /takes a value from fundCustodian, which is not among .* sources\..*there are: fundAdministrator, fundValuer, vault/,
  )
  expect(load(NAMED).agent.role).toBe('nav-reporter')
})

it('knows all signers of the configuration, so that none of them is taken for a rival', () => {
  const { agent, ruleset } = load(NAMED)
  expect(ruleset.ours).toContain(agent.signer.address.toLowerCase())
  expect(ruleset.sharing).toEqual([agent.signer.address.toLowerCase()])
})

it('starts no role of production at the paces of the sandbox', () => {
  expect(() => load(NAMED, 'sandbox/policies/nav-reporter.yaml')).toThrow(
    /sandbox\/policies\/nav-reporter\.yaml:3:1: the policy says environment: sandbox, and the run configuration production/,
  )
})

it('counts sources of one file together, and starts no role whose quorum is then out of reach', () => {
  const at = (one: RegExp) => (name: string) => (one.test(name) ? 'one' : name)
  const two = load(NAMED, undefined, at(/^fund(Custodian|Valuer)$/))
  const { reports } = two.policy.strategy as NavReporterPolicy
  expect(reports.recoveryFund?.sources.valuer?.upstream).toBe('custodian+valuer')
  expect(reports.primeVault?.sources.valuer?.upstream).toBeUndefined()
  const lines = readFileSync('policies/nav-reporter.yaml', 'utf8').split('\n')
  const line = 1 + lines.findIndex((text) => text.startsWith('      quorum:'))
  expect(() => load(NAMED, undefined, at(/^fund/))).toThrow(
    new RegExp(
      `policies/nav-reporter\\.yaml:${line}:7: strategy\\.reports\\.recoveryFund\\.quorum: there are 2 votes.*; administrator and custodian and valuer have one vote.* write at most "2"`,
    ),
  )
})
