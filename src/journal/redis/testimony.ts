import { hashOf } from './answer.ts'
import type { CommandLine } from './command-line.ts'
import type { Line } from './connect.ts'
import { LineFault } from './faults.ts'
import type { Known } from './generation.ts'
import type { Keys } from './keys.ts'

/** What an instance knew of a fleet that its Redis has forgotten. */
export type Testimony = Known & {
  readonly instance: string
  /** The highest nonce that a key was asked to sign, by seat. */
  readonly tops: Readonly<Record<string, number>>
}

/** It is said again at each look, and goes an hour after the last. KEYS: forgotten. ARGV: the instance, what it knew. */
const TESTIFY = `
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], 3600)
return 'OK'`

/** Say on a server that has forgotten what was known of it. It is for people: where it is not taken, nothing follows. */
export async function testify(line: Line, keys: Keys, testimony: Testimony): Promise<void> {
  const { instance } = testimony
  try {
    await line.call('EVAL', TESTIFY, 1, keys.forgotten, instance, JSON.stringify(testimony))
  } catch (error) {
    if (!(error instanceof LineFault)) throw error
  }
}

/** Read what the instances knew that found it forgotten. */
export async function readTestimonies({
  keys,
  read,
}: Pick<CommandLine, 'keys' | 'read'>): Promise<readonly Testimony[]> {
  return [...hashOf(await read('HGETALL', keys.forgotten)).values()].map((text) => JSON.parse(text))
}
