import { z } from 'zod'

/** What figures are in, by the end of their members' names: all of them are texts of digits. */
const UNITS: readonly (readonly [name: RegExp, unit: string])[] = [
  [
    /assets(PerEpoch)?$/i,
    'base units of the asset, as digits in quotes: of one with 6 decimals, "1000000" is 1',
  ],
  [
    /shares$/i,
    'base units of the shares, as digits in quotes: of those with 18 decimals, "1000000000000000000" is 1',
  ],
  [/Seconds$/, 'seconds, as digits in quotes: "86400" is a day'],
  [/Timestamp$/, 'seconds since 1970, as digits in quotes: "1800000000" is in January 2027'],
  [/Id$/, 'its number, as digits in quotes: "7"'],
  [/^value$/, 'units of 10^-decimals of the quote asset for one share, as digits in quotes'],
]

/** Say what a member takes, with its unit; null where nothing is known of it. Pure. */
export function takesText(name: string, schema: z.core.$ZodType | undefined): string | null {
  if (schema === undefined) return null
  const takes = (value: unknown) => z.safeParse(schema, value).success
  if (schema instanceof z.ZodArray)
    return `a list in [ ], each ${takesText(name, schema.element) ?? 'as its type'}`
  if (schema instanceof z.ZodObject) return `an object in { } with ${Object.keys(schema.shape).join(', ')}`
  if (schema instanceof z.ZodEnum) return `one of ${schema.options.map((each) => `"${each}"`).join(', ')}`
  if (schema instanceof z.ZodLiteral) return [...schema.values].map((each) => JSON.stringify(each)).join(', ')
  if (takes(true)) return 'true or false, without quotes'
  if (isAddress(schema)) return 'an address in quotes: 0x and 40 hex digits'
  if (takes(1)) return numberText(name, takes)
  if (takes('1') && !takes('a')) return UNITS.find(([of]) => of.test(name))?.[1] ?? 'digits in quotes'
  if (takes('https://example.com') && !takes('a')) return 'an address that begins with https://, in quotes'
  return schema instanceof z.ZodString && schema.minLength !== null && schema.maxLength !== null
    ? `a text of ${schema.minLength} to ${schema.maxLength} characters, in quotes`
    : null
}

/** Whether a member takes an address and no other text. Pure. */
export function isAddress(schema: z.core.$ZodType | undefined): boolean {
  const takes = (text: string) => schema !== undefined && z.safeParse(schema, text).success
  return takes(`0x${'1'.repeat(40)}`) && !takes('a'.repeat(42))
}

const numberText = (name: string, takes: (value: unknown) => boolean): string => {
  if (/Bps$/.test(name)) return 'basis points, a number from 0 to 10000 without quotes: 100 is 1 %'
  const most = [36, 100, 10_000].find((each) => takes(each) && !takes(each + 1))
  return `a whole number${most === undefined ? '' : ` from 0 to ${most}`} without quotes`
}
