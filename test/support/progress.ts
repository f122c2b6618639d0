import { plural, span } from '../../src/readable.js'

/** A line is written so often at most. */
const EVERY_MS = 10_000

/**
 * Say on standard error how far a long program is, and how long it still takes if it goes on so.
 * @param total how many steps it has.
 * @returns what is called after each step.
 */
export function createProgress(program: string, total: number): () => void {
  const beganAtMs = performance.now()
  let [done, saidAtMs] = [0, beganAtMs]
  return () => {
    done += 1
    const nowMs = performance.now()
    if (nowMs - saidAtMs < EVERY_MS && done < total) return
    saidAtMs = nowMs
    process.stderr.write(`${progressText({ program, done, total, tookMs: nowMs - beganAtMs })}\n`)
  }
}

/** Write how far it is. Pure. */
export function progressText({
  program,
  done,
  total,
  tookMs,
}: {
  readonly program: string
  readonly done: number
  readonly total: number
  readonly tookMs: number
}): string {
  const took = span(Math.round(tookMs / 1_000) * 1_000)
  return `${program}: ${done} of ${plural(total, 'step')} in ${took}${leftText(done, total, tookMs)}`
}

/** Write how long the rest takes if it goes on so; nothing at the beginning and at the end. Pure. */
export function leftText(done: number, total: number, tookMs: number): string {
  if (done <= 0 || done >= total) return ''
  const leftMs = (tookMs / done) * (total - done)
  return `, about ${span(Math.max(1, Math.round(leftMs / 1_000)) * 1_000)} left`
}
