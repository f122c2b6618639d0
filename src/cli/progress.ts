import type { Io } from './command.ts'

/** Something that takes longer than a second, as it is shown meanwhile. */
export type Progress = { readonly say: (text: string) => void; readonly end: () => void }

/** Show progress on standard error: a spinner on a terminal, else one line at the start. */
export async function createProgress(text: string, io: Io): Promise<Progress> {
  if (!io.errIsTty) {
    io.err(`${text} …\n`)
    return { say: () => {}, end: () => {} }
  }
  const { default: createSpinner } = await import('yocto-spinner')
  // Signals are the session's: the spinner would end the process before anything is parked.
  const spinner = createSpinner({ text, stream: process.stderr, handleSignals: false }).start()
  return {
    say: (next) => {
      spinner.text = `${text}: ${next}`
    },
    end: () => {
      spinner.stop()
    },
  }
}
