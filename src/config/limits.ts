import { settings, usdMicros, wei } from '../service/contract/yaml-scalars.ts'

const spend = settings({ usdMicrosMax: usdMicros(), gasWeiMax: wei() }, { usdMicrosMax: 'movedMax' })

/** `limits` of a run configuration: what all roles together may move and cost in a rolling hour and day. */
export const limits = settings({ perHour: spend, perDay: spend }).refine(
  ({ perHour, perDay }) =>
    perHour.usdMicrosMax <= perDay.usdMicrosMax && perHour.gasWeiMax <= perDay.gasWeiMax,
  { path: ['perHour'], message: 'expected no limit above that of perDay' },
)
