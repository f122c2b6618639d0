import type { Hex } from 'viem'
import type { PreparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { answerOf, kindOf } from '../../guard/kinds.ts'
import { ATTACKS } from '../attacks/all.ts'
import { type Aim, STRANGER, ZERO } from '../attacks/attack.ts'
import { serve, textOf } from '../attacks/play.ts'
import type { Dice } from '../judgement/dice.ts'
import { pickFrom } from './dice.ts'

/** What became of one mutated answer; `problem` where something was let through, or failed otherwise than by a refusal. */
export type Fuzzed = { readonly check: string; readonly problem: string | null; readonly text: string }

const EDGES: readonly bigint[] = [
  0n,
  1n,
  2n ** 64n - 1n,
  2n ** 128n,
  2n ** 160n - 1n,
  2n ** 255n,
  2n ** 256n - 1n,
]
const ODD: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    '',
    ' ',
    '0',
    '-1',
    '1e18',
    '0x',
    '0x0',
    'toString',
    '__proto__',
    'а',
    '\u202e',
    '\u0000',
  ],
  ...[0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, [], {}, [null], { length: 1 }, STRANGER, ZERO],
  ...['9'.repeat(80), 'x'.repeat(201), '\u001b[2J', `0x${'f'.repeat(64)}`],
]

/** Change an answer in one to four places as its structure invites, and serve it. */
export async function fuzzAnswer(aims: readonly Aim[], dice: Dice): Promise<Fuzzed> {
  const aim = pick(aims, dice)
  const text = mutated(aim, aims, dice)
  try {
    const { state, check, asked } = await serve(aim, text)
    if (asked.length > 0) return { check, text, problem: `a key was asked for ${asked.join(', ')}` }
    if (state === 'refused') return { check, text, problem: check === '' ? 'refused without a check' : null }
    if (state === 'attested') return { check: state, text, problem: differs(aim, text) }
    return { check: state, text, problem: `it came to ${state}` }
  } catch (error) {
    // A report that is ours goes on to look at the chain.
    const why = error instanceof Error ? error.message : String(error)
    if (why === 'no hostile answer comes so far')
      return { check: 'attested', text, problem: differs(aim, text) }
    return { check: 'thrown', text, problem: `thrown: ${why}` }
  }
}

const isRaise = ({ proposal }: Aim): boolean => proposal.workflowType.endsWith('RfqReplaceBid')
const RAISE = kindOf('rfq-replace-up')
const honestOf = (aim: Aim) => (isRaise(aim) ? answerOf(RAISE, RAISE.drafts) : aim.answer).transactions

/** Words of calldata that our policies bound and do not fix, by function: the index of the word, and its bound. */
const BOUNDED: Readonly<
  Record<string, (aim: Aim) => readonly { readonly word: number; readonly max: bigint }[]>
> = {
  liquidate: ({ answer }) => [{ word: 5, max: endOf(answer) }],
  submitReport: ({ answer }) => [{ word: 9, max: endOf(answer) }],
  approve: ({ proposal }) =>
    proposal.workflowType.endsWith('RfqReplaceBid')
      ? [{ word: 1, max: BigInt(String(proposal.input.bidAssets)) }]
      : [],
}
/** The most that our own policy lets an answer live. */
const endOf = ({ expiresAt }: PreparedWorkflow): bigint =>
  BigInt(Math.floor(Date.parse(expiresAt) / 1_000)) + 30n

/**
 * Say what an accepted answer would have us do beyond the honest one, compared word by word and not by the guard's own
 * reading; null where it is the same.
 */
function differs(aim: Aim, text: string): string | null {
  const served: PreparedWorkflow = JSON.parse(text)
  const [ours, theirs] = [honestOf(aim), served.transactions].map((intents) =>
    intents.toSorted((one, other) => one.order - other.order),
  )
  // Whether a raise needs its approval, only the simulation shows: the rules bound it.
  const honest = isRaise(aim) && theirs?.length === 1 ? ours?.slice(-1) : ours
  if (honest === undefined || theirs === undefined || honest.length !== theirs.length) return 'other calls'
  for (const [index, intent] of theirs.entries()) {
    const wanted = honest[index]
    if (wanted === undefined) return 'another call'
    if (intent.target?.toLowerCase() !== wanted.target?.toLowerCase()) return `the target ${intent.target}`
    if (BigInt(intent.value) !== 0n) return `the value ${intent.value}`
    if (intent.chainId !== wanted.chainId) return `the chain ${intent.chainId}`
    const words = differing(wanted.calldata, intent.calldata.toLowerCase() as Hex)
    if (words === null) return `the calldata ${intent.calldata}`
    const bounds = boundsOf(aim, wanted.calldata)
    for (const { word, value } of words) {
      const bound = bounds.find((each) => each.word === word)
      if (bound === undefined || value > bound.max) return `word ${word} of its calldata, ${value}`
    }
  }
  return null
}

function boundsOf(aim: Aim, calldata: Hex): readonly { readonly word: number; readonly max: bigint }[] {
  const rules = aim.ruleset.rules.get(aim.proposal.workflowType) ?? []
  const rule = rules.find(({ selector }) => selector !== '0x' && calldata.startsWith(selector))
  return BOUNDED[rule?.abi.name ?? '']?.(aim) ?? []
}

/** The words in which two calls of one function differ; null where they differ in more than words. */
function differing(
  one: Hex,
  other: Hex,
): readonly { readonly word: number; readonly value: bigint }[] | null {
  if (one === other) return []
  if (one.length !== other.length || one.slice(0, 10) !== other.slice(0, 10)) return null
  const count = (one.length - 10) / 64
  return Array.from({ length: count }, (_, word) => ({ word, at: 10 + word * 64 })).flatMap(({ word, at }) =>
    one.slice(at, at + 64) === other.slice(at, at + 64)
      ? []
      : [{ word, value: BigInt(`0x${other.slice(at, at + 64)}`) }],
  )
}

const pick = <T>(items: readonly T[], dice: Dice): T => pickFrom(dice, items)

/** Change an answer in one to four places as its structure invites: its text. */
export function mutated(aim: Aim, aims: readonly Aim[], dice: Dice): string {
  let text = textOf(aim.answer)
  const steps = 1 + Math.floor(dice.unit() * 4)
  for (let step = 0; step < steps; step += 1) {
    text = dice.unit() < 0.03 ? mutatedText(text, dice) : mutatedValue(text, aim, aims, dice)
  }
  return text
}

/** Break the text itself. */
function mutatedText(text: string, dice: Dice): string {
  const at = Math.floor(dice.unit() * text.length)
  const deeds = [
    () => text.slice(0, at),
    () => `${text.slice(0, at)}${text.slice(at + 1)}`,
    () => `${text.slice(0, at)}${pick(['"', '{', '}', ',', '\\u0000', ' ', '0'], dice)}${text.slice(at)}`,
    () => text.replace('{', '{"__proto__":{"ok":false},'),
    () => `${text.slice(0, -1)},${text.slice(1)}`,
  ]
  return pick(deeds, dice)()
}

function mutatedValue(text: string, aim: Aim, aims: readonly Aim[], dice: Dice): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  const way = dice.unit()
  if (way < 0.15) {
    const served = pick(ATTACKS, dice).on({ ...aim })
    // A text of its own has tests of its own, and may nest deeper than can be written again.
    return served === null || 'text' in served ? text : textOf(served)
  }
  if (way < 0.75) return JSON.stringify(mutatedIntent(value, aim, aims, dice))
  return JSON.stringify(mutatedTree(value, pick(aims, dice), dice))
}

type Place = { readonly holder: Record<string, unknown>; readonly key: string }

/** An attack may nest 200,000 deep. */
const DEPTH_MAX = 12

/** Every place of a value, lists' elements included. */
function placesOf(value: unknown, found: Place[] = [], depth = 0): readonly Place[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return found
  for (const [key, child] of Object.entries(value)) {
    found.push({ holder: value as Record<string, unknown>, key })
    placesOf(child, found, depth + 1)
  }
  return found
}

/** Change one place of the whole tree: another value, another answer's, none, or one more. */
function mutatedTree(value: unknown, other: Aim, dice: Dice): unknown {
  const places = placesOf(value)
  if (places.length === 0) return pick(ODD, dice)
  const { holder, key } = pick(places, dice)
  const theirs = placesOf(JSON.parse(textOf(other.answer)))
  const deeds: readonly (() => void)[] = [
    () => {
      holder[key] = pick(ODD, dice)
    },
    () => {
      holder[key] = alike(holder[key], dice)
    },
    () => {
      holder[key] = alike(holder[key], dice)
    },
    () => {
      delete holder[key]
    },
    () => {
      const there = pick(theirs, dice)
      holder[key] = there.holder[there.key]
    },
    () => {
      const same = theirs.filter((each) => each.key === key)
      const there = pick(same.length === 0 ? theirs : same, dice)
      holder[key] = there.holder[there.key]
    },
    () => {
      const there = pick(places, dice)
      ;[holder[key], there.holder[there.key]] = [there.holder[there.key], holder[key]]
    },
    () => {
      holder[pick(['to', 'nonce', 'gas', 'data', 'constructor', key.toUpperCase()], dice)] = holder[key]
    },
  ]
  pick(deeds, dice)()
  return value
}

/** A value of the same kind, near the one that is there. */
function alike(value: unknown, dice: Dice): unknown {
  if (typeof value === 'number') return pick([value + 1, value - 1, 0, -value, value * 1_000], dice)
  if (typeof value === 'boolean') return !value
  if (typeof value !== 'string') return Array.isArray(value) ? [...value, ...value] : value
  if (/^[0-9]+$/.test(value))
    return String(pick([BigInt(value) + 1n, BigInt(value) * 10n ** 12n, ...EDGES], dice))
  if (/^0x[0-9a-f]{40}$/i.test(value))
    return pick([STRANGER, ZERO, value.toUpperCase().replace('0X', '0x')], dice)
  return pick([value.toUpperCase(), `${value} `, value.slice(1), `${value}${value}`], dice)
}

/** Change one intent's bytes, target, value or place. */
function mutatedIntent(value: unknown, aim: Aim, aims: readonly Aim[], dice: Dice): unknown {
  const intents: unknown = Object(value).transactions
  if (!Array.isArray(intents) || intents.length === 0) return value
  const intent = pick(intents, dice)
  if (typeof intent !== 'object' || intent === null) return value
  const calldata = String(intent.calldata)
  const pins = [
    ...aim.ruleset.deployment.assets,
    ...aim.ruleset.deployment.markets,
    ...aim.ruleset.deployment.contracts,
  ]
  const deeds: readonly (() => void)[] = [
    ...Array.from({ length: 6 }, () => () => {
      intent.calldata = mutatedBytes(
        calldata,
        aim,
        pins.map(({ address }) => address),
        dice,
      )
    }),
    () => {
      intent.calldata = pick(pick(aims, dice).answer.transactions, dice).calldata
    },
    () => {
      intent.target = pick([STRANGER, ZERO, aim.self, ...pins.map(({ address }) => address)], dice)
    },
    () => {
      intent.value = String(pick(EDGES, dice))
    },
    () => {
      intents.push(structuredClone(pick(pick(aims, dice).answer.transactions, dice)))
    },
    () => {
      intents.splice(intents.indexOf(intent), 1)
    },
    () => {
      intent.order = pick([0, 1, 2, 3], dice)
    },
  ]
  pick(deeds, dice)()
  return value
}

function mutatedBytes(calldata: string, { self }: Aim, addresses: readonly Hex[], dice: Dice): string {
  const words = Math.max(0, Math.floor((calldata.length - 10) / 64))
  if (words === 0) return pick([`${calldata}00`, calldata.slice(0, -2), '0x'], dice)
  const at = 10 + 64 * Math.floor(dice.unit() * words)
  const word = calldata.slice(at, at + 64)
  const within = (text: string) => `${calldata.slice(0, at)}${text}${calldata.slice(at + 64)}`
  const wide = (number: bigint) => BigInt.asUintN(256, number).toString(16).padStart(64, '0')
  const number = /^[0-9a-f]{64}$/.test(word) ? BigInt(`0x${word}`) : 0n
  const nibble = Math.floor(dice.unit() * 64)
  return pick(
    [
      () => within(wide(pick(EDGES, dice))),
      () => within(wide(number + 1n)),
      () => within(wide(number - 1n)),
      () => within(wide(number * 10n ** 12n)),
      () =>
        within(
          pick([STRANGER, ZERO, self, ...addresses], dice)
            .slice(2)
            .padStart(64, '0'),
        ),
      () => within(`${word.slice(0, nibble)}${pick([...'0123456789abcdef'], dice)}${word.slice(nibble + 1)}`),
      () => within(''),
      () => within(`${word}${word}`),
      () => `${calldata}${word}`,
      () => calldata.slice(0, at),
      () =>
        `${calldata.slice(0, 2)}${pick(['00000000', 'a9059cbb', '095ea7b3', 'ffffffff'], dice)}${calldata.slice(10)}`,
    ],
    dice,
  )()
}
