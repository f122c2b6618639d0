import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Make an empty directory; in a test it goes with the run's own folder. */
export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'rolekeeper-'))
