import { z } from 'zod'
import { invariant } from '../../errors.ts'
import type { ProposalInput } from '../../workflow/proposal.ts'
import type { NamedAddress, OwnAddresses } from './own-addresses.ts'

/** An input as it may be written, and what else it may be. */
export type Example = {
  readonly input: ProposalInput
  /** Where an input has a choice, the other choices as they are written: `action: accept`. */
  readonly others: readonly string[]
  /** Members that name an address: of one that is known there, and those that could be instead of it; or of nobody. */
  readonly addresses: readonly { readonly member: string; readonly named: readonly NamedAddress[] }[]
}

/** One share, which has six decimals more than what it is of: of a vault, and of a channel of one. */
const WHOLE_SHARES = { vaultAddress: '1000000000000', wrapperAddress: '1000000000000000000' } as const

/** What members are, by the end of their names; the first that the schema takes is shown. A time is one of 2027, an amount one of a token of 6 decimals. */
const BY_NAME: readonly (readonly [RegExp, unknown])[] = [
  // Of terms that pay at once.
  [/^maturityTimestamp$/, '0'],
  [/Timestamp$/, '1800000000'],
  [/^epochDurationSeconds$/, '604800'],
  [/Seconds$/, '0'],
  [/Id$/, '1'],
  [/^min/, '1'],
  [/^maxShares$/, WHOLE_SHARES],
  [/^maxSubscriptionAssets$/, '1000000000000'],
  [/^max/, '0'],
  [/^capAssets$/, '1000000000000'],
  [/^shares$/, WHOLE_SHARES],
  [/[aA]ssets|[sS]hares|^value$/, '1000000'],
  [/^website$/, 'https://example.com'],
  [/^logoUrl$/, 'https://example.com/logo.svg'],
  [/^useCase$/, 'Who is to hold its shares through us, and why.'],
  [/^symbol$/, 'EXMPL'],
  [/^reportType$/, 'nav'],
  [/^decimals$/, 6],
]
/** What any other member is, by its kind. */
const BY_KIND: readonly unknown[] = ['Example', true, 100, 0, '1000000', 'nav']

/** Whether a member may have a value, by its path; as far as the value alone tells. */
export type Fits = (path: string, value: unknown) => boolean

/** Where nothing is known of whose keeper it is. */
const OF_NOBODY: OwnAddresses = { of: () => [], others: [] }

/**
 * Write an input that a schema takes, of its first choice. Pure.
 * @param own addresses that may stand in it; for any other there is one that nobody has.
 * @param fits what is taken before anything else that the schema takes.
 */
export function exampleOf(schema: z.ZodType, own = OF_NOBODY, fits: Fits = () => true): Example {
  const [first, ...others] = schema instanceof z.ZodDiscriminatedUnion ? schema.options : [schema]
  invariant(first instanceof z.ZodObject, 'an input is an object, or a choice of some')
  const writing: Writing = { own, fits, about: Object.keys(first.shape), addresses: [] }
  return {
    input: objectOf(first, '', writing),
    others: others.flatMap(choicesOf),
    addresses: writing.addresses,
  }
}

/** What an example draws its addresses of, and those that it has: no two of one list are alike while it lasts. */
type Writing = {
  readonly own: OwnAddresses
  readonly fits: Fits
  /** The members of the whole input: they tell what a share is of. */
  readonly about: readonly string[]
  readonly addresses: { member: string; named: readonly NamedAddress[] }[]
}

function objectOf({ shape }: z.ZodObject, path: string, writing: Writing): ProposalInput {
  const members = Object.entries(shape).map(([name, member]) => [
    name,
    memberAs(name, `${path}${name}`, member, writing),
  ])
  return Object.fromEntries(members) as ProposalInput
}

function memberAs(name: string, path: string, schema: z.core.$ZodType, writing: Writing): unknown {
  if (schema instanceof z.ZodArray) return [memberAs(name, `${path}[]`, schema.element, writing)]
  if (schema instanceof z.ZodObject) return objectOf(schema, `${path}.`, writing)
  if (schema instanceof z.ZodLiteral) return schema.value
  if (schema instanceof z.ZodEnum) return schema.options[0]
  const { about, addresses, fits } = writing
  const turned = turnedOf(name, path, writing)
  const madeUp = addresses.filter((one) => one.named.length === 0).length
  const address = turned[0]?.address ?? `0x${String((madeUp % 9) + 1).repeat(40)}`
  const values = [...figuresOf(name, about), ...BY_KIND, address].filter(
    (value) => z.safeParse(schema, value).success,
  )
  const found = values.find((value) => fits(path, value)) ?? values[0]
  if (found === address) addresses.push({ member: name, named: turned })
  return found
}

/** What figures a member may be, by its name. */
function figuresOf(name: string, about: readonly string[]): readonly unknown[] {
  const found = BY_NAME.find(([pattern]) => pattern.test(name))?.[1]
  if (found !== WHOLE_SHARES) return [found]
  const [of] = Object.entries(WHOLE_SHARES).flatMap(([member, shares]) =>
    about.includes(member) ? [shares] : [],
  )
  return [of ?? '1000000']
}

/** Whose address a member may be, beginning with one that it has not had; nobody's that the policy would not take. */
function turnedOf(name: string, path: string, { own, fits, addresses }: Writing): readonly NamedAddress[] {
  const fitting = (all: readonly NamedAddress[]) => all.filter(({ address }) => fits(path, address))
  const named = own.of(name)
  const likely = fitting(named)
  // What fits, whatever it is, where neither those nor an address that nobody has does.
  const isOpen = fits(path, `0x${'1'.repeat(40)}`)
  const known = likely.length > 0 ? likely : isOpen ? named : fitting(own.others)
  const before = addresses.filter(({ member }) => member === name).length
  return known.map((_, index) => known[(index + before) % known.length] as NamedAddress)
}

const choicesOf = (choice: z.core.$ZodType): readonly string[] =>
  choice instanceof z.ZodObject
    ? Object.entries(choice.shape).flatMap(([name, member]) =>
        member instanceof z.ZodLiteral ? [`${name}: ${member.value}`] : [],
      )
    : []
