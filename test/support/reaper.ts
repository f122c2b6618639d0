/**
 * Remove the folder of a test run once the run is over: `node reaper.ts FOLDER`, with a pipe from the run as its input. A run
 * writes a word there when it has ended by itself. Where the pipe ends without one, the run was ended in the middle: what it
 * had started is ended too, known by the temporary directory that it was given, or by working in it: a redis-server overwrites what
 * it was given.
 */
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const folder = process.argv[2] ?? ''
let word = ''
for await (const chunk of process.stdin) word += String(chunk)

// What dies may be starting something meanwhile: it is over once nothing is found any more.
while (word === '' && endAll()) await sleep(50)
rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })

/** Kill each process of the run. @returns whether there was one. */
function endAll(): boolean {
  const found = processes().filter(isOfRun)
  for (const id of found) {
    try {
      process.kill(id, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  return found.length > 0
}

/** The ids of all processes; none where the system does not show them. */
function processes(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

function isOfRun(id: number): boolean {
  try {
    const isGiven = readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(`TMPDIR=${folder}`)
    return isGiven || `${readlinkSync(`/proc/${id}/cwd`)}/`.startsWith(`${folder}/`)
  } catch {
    return false
  }
}
