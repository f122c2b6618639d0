import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unwritable } from '../faults.ts'
import { isLocked } from './lock.ts'

/** What a folder for the records of a keeper is like. */
export type ProbedDirectory = {
  /** `memory` is lost with the machine, `kernel` holds no files of ours at all. */
  readonly kind: 'disk' | 'memory' | 'kernel'
  readonly freeBytes: number
  /** Another process works in it. */
  readonly isHeld: boolean
}

/** File systems by the magic number that statfs gives. Source: man 2 statfs. */
const MEMORY = [0x01021994, 0x858458f6]
const KERNEL = [0x9fa0, 0x62656572, 0x64626720, 0x27e0eb, 0x63677270]

/** The deepest part of a path that is there. */
const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)))

/**
 * Look whether a keeper could keep its records in a folder, by writing into it, or into the one where it would be made, and
 * taking that away again. Throws RolekeeperError `journal.failed` where nothing can be written.
 */
export function probeDirectory(directory: string): ProbedDirectory {
  const there = nearest(directory)
  try {
    const probe = mkdtempSync(join(there, '.rolekeeper-probe-'))
    try {
      writeFileSync(join(probe, 'file'), 'probe', { flush: true })
    } finally {
      rmSync(probe, { recursive: true, force: true })
    }
    const { type, bavail, bsize } = statfsSync(there)
    const kind = KERNEL.includes(type) ? 'kernel' : MEMORY.includes(type) ? 'memory' : 'disk'
    return { kind, freeBytes: bavail * bsize, isHeld: isLocked(directory) }
  } catch (cause) {
    throw unwritable(directory, cause)
  }
}
