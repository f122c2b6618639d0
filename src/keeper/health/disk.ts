import { statfs } from 'node:fs/promises'

/**
 * Watch what is left on the disk of a directory. A disk that hangs is asked no second time meanwhile, and nobody waits for it.
 * @returns the bytes that were free when it last answered; null where it did not.
 */
export function watchDisk(directory: string): () => number | null {
  let free: number | null = null
  let isAsked = false
  const look = () => {
    if (!isAsked) {
      isAsked = true
      void statfs(directory)
        .then(
          ({ bavail, bsize }) => {
            free = bavail * bsize
          },
          () => {
            free = null
          },
        )
        .finally(() => {
          isAsked = false
        })
    }
    return free
  }
  look()
  return look
}
