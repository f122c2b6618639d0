import type { RunConfig } from '../../../config/config.ts'
import { probeDirectory } from '../../../journal/directory/probe.ts'
import { type Finding, failed, failedBy, passed, warned } from '../finding.ts'

const MEGABYTE = 1_048_576
/** A busy day of records is some tens of megabytes. */
const FREE_BYTES_MIN = 256 * MEGABYTE
const FREE_BYTES_LOW = 2_048 * MEGABYTE

/** Look at the folder of a keeper's records: whether it takes them, keeps them, and has room. */
export function examineDirectory({ directory }: Pick<RunConfig, 'directory'>): Finding {
  try {
    const { kind, freeBytes, isHeld } = probeDirectory(directory)
    const free = `${Math.floor(freeBytes / MEGABYTE)} MB are free`
    if (kind === 'kernel' || freeBytes < FREE_BYTES_MIN) {
      const why =
        kind === 'kernel' ? 'is no disk: the kernel makes what is seen there' : `has no room: ${free}`
      const fix = `name a folder on a disk with ${FREE_BYTES_MIN / MEGABYTE} MB free as \`directory\`, or make room.`
      return failed('directory', '', { code: 'directory.unfit', message: `${directory} ${why}.`, fix })
    }
    if (kind === 'memory' || freeBytes < FREE_BYTES_LOW) {
      const why =
        kind === 'memory'
          ? 'is in memory: what was signed is forgotten with the machine'
          : `is short of room: ${free}`
      const fix = 'name a folder on a disk of its own as `directory`.'
      return warned('directory', '', { code: 'directory.unfit', message: `${directory} ${why}.`, fix })
    }
    const held = isHeld ? '; a keeper works in it now' : ''
    return passed('directory', '', `${directory} can be written, and ${free}${held}.`)
  } catch (error) {
    return failedBy('directory', '', error)
  }
}
