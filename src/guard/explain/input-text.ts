import type { Address } from 'viem'
import { printable } from '../../errors.ts'
import { workflowName } from '../../readable.js'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import { subjectOf } from '../checks/check-request.ts'
import { figureText } from '../policy/figures.ts'
import type { Subject } from '../policy/references.ts'
import { asAddress, asUint } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'
import { nameAddress, nameOf } from './approval-screen.ts'

/** One value of an input, by its path in it. */
type Member = { readonly path: string; readonly value: unknown }

const membersOf = (value: unknown, path: string): readonly Member[] => {
  if (Array.isArray(value)) return value.flatMap((each, index) => membersOf(each, `${path}[${index}]`))
  if (value === null || typeof value !== 'object') return [{ path, value }]
  return Object.entries(value).flatMap(([name, each]) =>
    membersOf(each, path === '' ? name : `${path}.${name}`),
  )
}

function sayMember({ path, value }: Member, subject: Subject, name: (address: string) => string): string {
  const figure = asUint(value)
  if (asAddress(value) !== undefined) return name(String(value).toLowerCase())
  if (figure === undefined) return String(value)
  const place = [...path.matchAll(/\[(\d+)\]/g)].map(([, index]) => Number(index))
  const member = path.replace(/\[\d+\]/g, '[]')
  return figureText(figure, { path: member, place, reference: `$input.${member}` }, subject)
}

/** What an input is about where only a run configuration's names are known. */
function aboutOf(input: Proposal['input'], signer: Address, deployment: Deployment): Subject {
  const pinned = <P extends { readonly address: Address }>(pins: readonly P[], named: unknown): P | null =>
    pins.find(({ address }) => address === asAddress(named)) ?? null
  return {
    input,
    self: signer,
    deadlineS: 0n,
    deployment,
    market: pinned(deployment.markets, input.marketAddress),
    vault: pinned(deployment.vaults, input.vaultAddress),
    fund: pinned(deployment.funds, input.fundAddress),
  }
}

/** Write each value of an input by its path, with units and our names of addresses. Pure. */
export function inputLines(
  input: Proposal['input'],
  signer: Address,
  deployment: Deployment,
): readonly (readonly [path: string, text: string])[] {
  const subject = aboutOf(input, signer, deployment)
  return membersOf(input, '').map((member) => [
    member.path,
    sayMember(member, subject, (address) => nameAddress(address, deployment, subject)),
  ])
}

/** The longest summary of an order, and text in it: all of it is in its calls. */
const SUMMARY_MAX = 200
const TEXT_MAX = 40

/** What an order is about, and so said first. */
const ABOUT = /^(?:vault|wrapper|channel|market|fund|asset)Address$/

/**
 * Say in a line what an order asks for, so that two that wait are told apart: its type, what it is about, and its figures
 * with their units. Addresses by our names, or by their ends. Pure.
 */
export function sayOrder(
  { workflowType, input }: Pick<Proposal, 'workflowType' | 'input'>,
  signer: Address,
  ruleset: Ruleset,
): string {
  const { deployment } = ruleset
  const found = subjectOf({ workflowType, input }, signer, ruleset)
  const subject = found.ok ? { ...found.subject, deadlineS: 0n } : aboutOf(input, signer, deployment)
  const say = (member: Member) =>
    printable(
      sayMember(
        member,
        subject,
        (address) => nameOf(address, deployment, subject) ?? `${address.slice(0, 6)}…${address.slice(-4)}`,
      ),
      TEXT_MAX,
    )
  const members = membersOf(input, '')
  const about = members.filter(({ path }) => ABOUT.test(path)).map(say)
  const figures = members
    .filter(({ path }) => !ABOUT.test(path))
    .map((member) => `${member.path.replace(/(?:Address|Bps|Seconds|Timestamp)$/, '')} ${say(member)}`)
  const of = about.length === 0 ? '' : ` of ${about.join(', ')}`
  const by = figures.length === 0 ? '' : `: ${figures.join(', ')}`
  return printable(`${workflowName(workflowType)}${of}${by}`, SUMMARY_MAX)
}
