import { answerHeld } from '../answer-held.ts'
import { command, usageError } from '../command.ts'
import { KEY } from '../person-key.ts'
import { PLACE } from '../place.ts'

/** `rolekeeper reject`: the answer no. */
export const reject = command({
  name: 'reject',
  usage: 'ID [--key FILE] [--config FILE | --directory DIR]',
  help: `Cancel what waits for a person. It is not proposed again until its state changes. ID may be shortened.

  rolekeeper reject 3f2a`,
  options: { ...PLACE, ...KEY },
  argumentsMax: 1,
  run: async ({ key, ...given }, [id], io) => {
    if (id === undefined)
      throw usageError('Say what to reject.', 'write `reject ID`; `approve` lists what waits')
    return answerHeld('reject', given, { id, keyFile: key }, io)
  },
})
