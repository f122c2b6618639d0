import { hashOf } from './answer.ts'
import type { CommandLine } from './command-line.ts'
import type { Line } from './connect.ts'
import { LineFault } from './faults.ts'
import type { LastKnown } from './generation.ts'
import type { Keys } from './keys.ts'

/** What an instance knew of a fleet that its Redis has forgotten. */
export type InstanceHistory = LastKnown & {
  readonly instance: string
  /** The highest nonce that a key was asked to sign, by seat. */
  readonly tops: Readonly<Record<string, number>>
}

/**
 * It is said again at each look, and goes an hour after the last. Where a generation has begun meanwhile that follows what was
 * known, there is nothing to say. What one misses of the generation that is served there, the others cannot rely on either,
 * until a person has a later one begin: the first to say so has found it, all others may say it because of that one. KEYS:
 * forgotten, meta. ARGV: the instance, what it knew, its generation.
 */
const TESTIFY = `
local parents = ' ' .. (redis.call('HGET', KEYS[2], 'parent') or '') .. ' '
if string.find(parents, ' ' .. ARGV[3] .. ' ', 1, true) then return 'OK' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], 3600)
if redis.call('HGET', KEYS[2], 'gen') == ARGV[3] then redis.call('HSETNX', KEYS[2], 'doubted', ARGV[1]) end
return 'OK'`

/** Say on a server that has forgotten what was known of it. Where it is not taken, nothing follows. */
export async function writeHistory(line: Line, keys: Keys, testimony: InstanceHistory): Promise<void> {
  const { instance, gen } = testimony
  const parameters = [instance, JSON.stringify(testimony), gen]
  try {
    await line.call('EVAL', TESTIFY, 2, keys.forgotten, keys.meta, ...parameters)
  } catch (error) {
    if (!(error instanceof LineFault)) throw error
  }
}

/** Read what the instances knew that found it forgotten. */
export async function readHistories({
  keys,
  read,
}: Pick<CommandLine, 'keys' | 'read'>): Promise<readonly InstanceHistory[]> {
  return [...hashOf(await read('HGETALL', keys.forgotten)).values()].map((text) => JSON.parse(text))
}
