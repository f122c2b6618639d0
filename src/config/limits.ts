import { nest, spend, spendNames } from '../service/contract/spend.ts'
import { settings } from '../service/contract/yaml-scalars.ts'

const rolling = settings(spend, spendNames)

/** `limits` of a run configuration: what all roles together may move and cost in a rolling hour and day. */
export const limits = settings({ perHour: rolling, perDay: rolling }).superRefine(
  ({ perHour, perDay }, context) => nest(context, ['perHour', perHour], ['perDay', perDay]),
)
