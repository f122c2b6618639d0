import { type Members, membersOf } from '../../../src/guard/policy/compare/difference.ts'
import { chance, pickFrom, whole } from '../../lab/fuzz/dice.ts'
import type { Dice } from '../../lab/judgement/dice.ts'

/** A policy as a file says it, to change. */
export type Draft = { [key: string]: unknown }

const listOf = (holder: unknown, key: string): Draft[] => {
  const list = Reflect.get(Object(holder), key)
  return Array.isArray(list) ? list : []
}
const rulesOf = (draft: Draft): Draft[] => listOf(draft.guard, 'allow')
const conditionsOf = (rule: Draft): Draft[] => Object.values(membersOf(rule.params)) as Draft[]

/** Every place below a mapping that holds an amount with a unit, or a count. */
function amountsOf(holder: Draft): { holder: Draft; key: string }[] {
  return Object.entries(holder).flatMap(([key, value]) => {
    if (typeof value === 'string') return /^[0-9][0-9,.]*( \S+)?$/.test(value) ? [{ holder, key }] : []
    return value === null || typeof value !== 'object' ? [] : amountsOf(value as Draft)
  })
}

/** Change an amount to another of its kind: half, twice, a unit more, or none. */
function changeAmount(holder: Draft, key: string, dice: Dice): void {
  const [, number = '0', unit = ''] = /^([0-9,.]+)( \S+)?$/.exec(String(holder[key])) ?? []
  const was = Number(number.replaceAll(',', ''))
  const is = pickFrom(dice, [Math.floor(was / 2), was * 2, was + 1, Math.max(0, was - 1), 0, was * 100])
  holder[key] = `${Math.round(is * 100) / 100}${unit}`
}

type Edit = (draft: Draft, original: Members, dice: Dice) => void

const changeSanity: Edit = (draft, _, dice) => {
  const { holder, key } = pickFrom(dice, amountsOf(Reflect.get(Object(draft.guard), 'sanity')))
  changeAmount(holder, key, dice)
}

/** Each changes one thing of a policy, as somebody at an editor might; some make one that does not load. */
const EDITS: readonly Edit[] = [
  (draft, _, dice) => {
    const section = pickFrom(dice, ['limits', 'limits', 'freshness', 'fees', 'approval'])
    const { holder, key } = pickFrom(dice, amountsOf(draft[section] as Draft))
    changeAmount(holder, key, dice)
  },
  changeSanity,
  (draft, _, dice) => {
    const rule = pickFrom(dice, rulesOf(draft))
    changeAmount(rule, pickFrom(dice, ['gasMax', 'valueMax']), dice)
  },
  (draft, _, dice) => {
    const condition = pickFrom(dice, conditionsOf(pickFrom(dice, rulesOf(draft))))
    delete condition[pickFrom(dice, Object.keys(condition))]
  },
  (draft, _, dice) => {
    const condition = pickFrom(dice, conditionsOf(pickFrom(dice, rulesOf(draft))))
    const number = pickFrom(dice, ['0', '1', '1000000', '50000000000', '99.5 % of $args.repayAssets'])
    const lists = ['$deployment.vaults', '$deployment.markets', ['0', '1', '2'], ['0', '1']]
    const tests: Draft = {
      min: number,
      max: number,
      in: pickFrom(dice, lists),
      eq: pickFrom(dice, ['$self', '1']),
    }
    const test = pickFrom(dice, Object.keys(tests))
    condition[test] = tests[test]
  },
  (draft, _, dice) => {
    const condition = pickFrom(dice, conditionsOf(pickFrom(dice, rulesOf(draft))))
    const choices = [{ min: '1' }, { max: '1000000000' }, { eq: '7' }]
    condition.any = choices.slice(whole(dice, 2))
  },
  (draft, _, dice) => {
    const { workflowType } = pickFrom(dice, rulesOf(draft))
    const guard = draft.guard as Draft
    for (const key of ['allow', 'effects']) {
      guard[key] = listOf(guard, key).filter((each) => each.workflowType !== workflowType)
    }
  },
  (draft, _, dice) => {
    const rules = rulesOf(draft)
    rules.splice(whole(dice, rules.length), 1)
  },
  (draft, _, dice) => {
    const rules = rulesOf(draft)
    rules.push(...rules.splice(whole(dice, rules.length), 1))
  },
  (draft, _, dice) => {
    const rule = pickFrom(dice, rulesOf(draft))
    const guard = draft.guard as Draft
    const params = dice.unit() < 0.5 ? {} : { params: { assets: { min: '1000000000' } } }
    guard.deny = [
      ...listOf(guard, 'deny'),
      { id: `deny-${whole(dice, 3)}`, function: rule.function, ...params },
    ]
  },
  (draft, _, dice) => {
    const guard = draft.guard as Draft
    const denied = listOf(guard, 'deny')
    denied.splice(whole(dice, denied.length), 1)
  },
  (draft, _, dice) => {
    const effects = pickFrom(dice, listOf(draft.guard, 'effects'))
    effects.in = pickFrom(dice, [
      [],
      [{ token: '$asset.sUSD', assetsMin: pickFrom(dice, ['1', '5', '1000000']) }],
    ])
  },
  (draft, _, dice) => {
    const effects = pickFrom(dice, listOf(draft.guard, 'effects'))
    effects[pickFrom(dice, ['out', 'moves'])] = []
  },
  (draft, _, dice) => {
    const limits = draft.limits as Draft
    if (dice.unit() < 0.5) delete limits.loss
    else limits.loss = { perHour: '1,000 USD', perDay: '2,000 USD' }
  },
  (draft, _, dice) => {
    const limits = draft.limits as Draft
    const amount = () => `${pickFrom(dice, [1, 5, 20])},000 USD`
    const per = pickFrom(dice, ['30 min', '1 h', '1 d'])
    const of = pickFrom(dice, ['market', 'counterparty'])
    const more = chance(dice, 0.3) ? { calls: '2' } : { most: amount(), refill: amount() }
    limits.allowances = [...listOf(limits, 'allowances'), { of, per, ...more }]
  },
  (draft, _, dice) => {
    const allowances = listOf(draft.limits, 'allowances')
    allowances.splice(whole(dice, allowances.length), 1)
  },
  (draft, original, dice) => {
    const prices = (draft.limits as Draft).prices as Draft
    if (dice.unit() < 0.5) delete prices[pickFrom(dice, Object.keys({ sUSD: 1, ...prices }))]
    else Object.assign(prices, membersOf(membersOf(original.limits).prices), { sBTC: '50,000 USD' })
  },
]

/** A policy after one to so many edits, of what the role's judgement is limited by alone where that is asked for. */
export function edited(policy: Members, times: number, dice: Dice, at?: 'sanity'): Draft {
  const draft: Draft = structuredClone({ ...policy })
  for (let count = 1 + whole(dice, times); count > 0; count -= 1) {
    try {
      pickFrom(dice, at === 'sanity' ? [changeSanity] : EDITS)(draft, policy, dice)
    } catch (error) {
      // There was nothing to choose from.
      if (!(error instanceof TypeError)) throw error
    }
  }
  return draft
}
