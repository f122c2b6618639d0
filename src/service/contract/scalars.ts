import { getAddress } from 'viem'
import { z } from 'zod'

/** 2^256 has 78 decimal digits; nothing on an EVM chain needs more. */
const UINT_DIGITS_MAX = 78

/** `uint-string`: an unsigned integer in base units, as decimal digits. */
export const uintString = z
  .string()
  .max(UINT_DIGITS_MAX)
  .regex(/^[0-9]+$/, 'expected a whole number of base units, in digits')

/** `addr`: a 20-byte address, any case. */
export const addr = z
  .string()
  .regex(/^0x[a-fA-F0-9]{40}$/, 'expected an address: 0x and 40 hex digits')
  .transform((text): `0x${string}` => `0x${text.slice(2).toLowerCase()}`)

/** Whether capitals of an address, where it has some and not only those, are its checksum. Source: EIP-55. */
export const isSpeltRight = (text: string): boolean =>
  text === text.toLowerCase() ||
  text === `0x${text.slice(2).toUpperCase()}` ||
  text === getAddress(text.toLowerCase())

/** `ts`: an ISO 8601 date-time. */
export const ts = z.iso.datetime({ offset: true })

/** Text that identifies, names or explains: 1 to 200 characters. */
export const shortText = z.string().min(1).max(200)

/** What a request of the service's is called: it goes into paths, logs and records. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/

/** Whole bytes as 0x-prefixed hex; one MiB of body bounds its length. */
export const hexBytes = z
  .string()
  .regex(/^0x([a-fA-F0-9]{2})*$/, 'expected bytes: 0x and two hex digits each')
  .transform((text): `0x${string}` => `0x${text.slice(2).toLowerCase()}`)

/** 32 bytes as 0x-prefixed hex. */
export const hash32 = z
  .string()
  .regex(/^0x[a-fA-F0-9]{64}$/, 'expected a hash: 0x and 64 hex digits')
  .transform((text): `0x${string}` => `0x${text.slice(2).toLowerCase()}`)

/** A resource field: the service may leave it out, or answer null. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish()
