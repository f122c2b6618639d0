import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { agents } from '../../../agents/index.ts'
import { assumptions } from '../../config/assumptions.ts'
import { checkYaml } from '../../config/check.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { loadYaml, type YamlFile } from '../../config/yaml.ts'
import { RolekeeperError } from '../../errors.ts'
import { approversIn, whoLoosens } from '../../guard/approval/approvers.ts'
import type { Identity } from '../../guard/approval/person-key.ts'
import { type Difference, type Members, membersOf } from '../../guard/policy/compare/difference.ts'
import { type Change, changeHash, changeOf, comparePolicies } from '../../guard/policy/compare/policies.ts'
import type { Weakness } from '../../guard/policy/lints.ts'
import { deployment } from '../../service/contract/deployment.ts'
import { addr } from '../../service/contract/scalars.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { compilePolicy, type RolePolicy } from '../policy/role-policy.ts'
import { farNumbersIn } from './far-numbers.ts'
import type { Codes } from './functions.ts'
import { lintsOf } from './lints.ts'

/** What of a run configuration a policy is read by: no secret has to be there. */
const pinned = z.looseObject({
  environment: z.enum(['sandbox', 'production']),
  deployment,
  service: z.looseObject({ assumptions }),
})

const located = z.looseObject({ address: addr })

/** Who works by which policy: a verdict rests on whose signers are ours as well. */
const staffed = pinned.extend({
  agents: z
    .array(
      z
        .looseObject({
          role: z.string(),
          mode: z.enum(['live', 'shadow']),
          policy: z.string(),
          signer: z.looseObject({ kms: located.optional(), keystore: located.optional() }),
        })
        .transform(({ signer: { kms, keystore }, ...agent }, context) => {
          const signer = kms ?? keystore
          if (signer !== undefined) return { ...agent, signer }
          context.addIssue({ code: 'custom', path: ['signer'], message: 'expected kms or keystore' })
          return z.NEVER
        }),
    )
    .default([]),
})

const SHIPPED = fileURLToPath(new URL('../../../policies/', import.meta.url))

/**
 * Read and compile a policy file as the run configuration's agent of it does, of which no secret has to be there; for a file
 * that no agent of it names, among no signers.
 * @throws RolekeeperError what a start would throw of it, with file, line, column and fix.
 */
export function openPolicy(file: string, config: string) {
  const yaml = loadWithIncludes(file)
  const does = agentOf(yaml)
  const { agents, ...ground } = checkYaml(loadYaml(config), staffed)
  const placed = agents.map((each) => ({ ...each, policy: resolve(dirname(config), each.policy) }))
  const agent = placed.find(({ role, policy }) => role === does.role && policy === resolve(file))
  const staff = agent === undefined ? undefined : { agent, agents: placed }
  return {
    yaml,
    role: does.role,
    ...compilePolicy(yaml, does, ground, staff),
    isStaffed: agent !== undefined,
  }
}

/**
 * Read and compile the policy that a run configuration gives the agent of a role and signer; null where it has no such agent.
 * @throws RolekeeperError what a start would throw of it.
 */
export function openPolicyOf({ role, signer }: Pick<Workflow, 'role' | 'signer'>, config: string) {
  const { agents } = checkYaml(loadYaml(config), staffed)
  const agent = agents.find(
    (each) => each.role === role && each.signer.address.toLowerCase() === signer.toLowerCase(),
  )
  return agent === undefined ? null : openPolicy(resolve(dirname(config), agent.policy), config)
}

/** What is weak in a policy that loads: where, what, and what to do about it. */
type Lint = { readonly at: string; readonly problem: string; readonly fix: string }

/** What a check of a policy file came to. */
type CheckedFile = {
  readonly role: string
  /** The ruleset's, as a keeper of this run configuration names it; without signers where no agent names the file. */
  readonly hash: string
  readonly isStaffed: boolean
  readonly lints: readonly Lint[]
  /** Numbers far from those of the shipped policy: a slip, or meant. None where amounts and paces are the sandbox's. */
  readonly far: readonly Lint[]
}

/**
 * Check a policy file whole, as a start does, against the deployment of a run configuration.
 * @param codes what is pinned, where a node was asked for it.
 * @throws RolekeeperError what a start would throw of it, with file, line, column and fix.
 */
export function checkFile(file: string, config: string, codes: Codes = new Map()): CheckedFile {
  const { yaml, role, policy, ruleset, approval, isStaffed } = openPolicy(file, config)
  const placed = ({ path, problem, fix }: Weakness): Lint => ({ at: yaml.at(path), problem, fix })
  const lints = lintsOf(yaml, { policy, ruleset, approval }, codes).map(placed)
  return {
    role,
    hash: ruleset.hash,
    isStaffed,
    lints,
    far: farFromShipped(yaml, { policy, ruleset }).map(placed),
  }
}

/**
 * Find numbers of a policy that are far from those of the shipped policy of its role; none for a policy of the sandbox, and for
 * a role that none is shipped of.
 */
export function farFromShipped(
  { value }: YamlFile,
  { policy, ruleset }: Pick<RolePolicy, 'policy' | 'ruleset'>,
): readonly Weakness[] {
  const file = join(SHIPPED, `${ruleset.role}.yaml`)
  if (policy.environment === 'sandbox' || !existsSync(file)) return []
  return farNumbersIn(value, loadWithIncludes(file).value, policy)
}

/**
 * Compare two policy files of one role, each checked whole against the deployment of a run configuration.
 * @returns their differences, what these come to, and the hash that names this very change.
 * @throws RolekeeperError what a start would throw of either, and `policy.other_role`.
 */
export function compareFiles(
  old: string,
  now: string,
  config: string,
): { readonly change: Change; readonly differences: readonly Difference[]; readonly hash: string } {
  const ground = checkYaml(loadYaml(config), pinned)
  const [was, is] = [old, now].map((file) => {
    const yaml = loadWithIncludes(file)
    const agent = agentOf(yaml)
    compilePolicy(yaml, agent, ground)
    return { role: agent.role, members: membersOf(yaml.value) }
  }) as [MembersOf, MembersOf]
  if (was.role !== is.role) {
    const problem = `${old} is a policy of the ${was.role}, and ${now} of the ${is.role}.`
    throw new RolekeeperError('policy.other_role', problem, { fix: 'compare two policies of one role' })
  }
  const differences = comparePolicies(was.members, is.members)
  return { change: changeOf(differences), differences, hash: changeHash(was.members, is.members) }
}

/** Find who of the approvers that a policy file names approves a change of it; null for nobody. Throws what reading throws. */
export function approverOf(file: string, hash: string, by: Identity): string | null {
  const [name] = whoLoosens(hash, [by], approversIn(membersOf(loadWithIncludes(file).value)))
  return name ?? null
}

type MembersOf = { readonly role: string; readonly members: Members }

/** Find the role that a policy file is of. */
function agentOf({ file, value, at }: YamlFile) {
  const role: unknown = Reflect.get(Object(value), 'role')
  const agent = agents.find((each) => each.role === role)
  if (agent !== undefined) return agent
  const known = agents.map((each) => each.role).join(', ')
  throw new RolekeeperError(
    'config.invalid',
    `${at(['role'])}: role is ${JSON.stringify(role ?? null)}, no role of this release.`,
    {
      fix: `write one of: ${known}`,
      facts: { file },
    },
  )
}
