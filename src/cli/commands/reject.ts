import { answerHeld } from '../answer-held.ts'
import { command, usageError } from '../command.ts'
import { PLACE } from '../place.ts'

/** `rolekeeper reject`: the answer no. */
export const reject = command({
  name: 'reject',
  usage: 'ID [--config FILE | --directory DIR]',
  help: `Cancel what waits for a person. It is not proposed again until its state changes. ID may be shortened.

  rolekeeper reject 3f2a`,
  options: PLACE,
  argumentsMax: 1,
  run: async (given, [id], io) => {
    if (id === undefined)
      throw usageError('Say what to reject.', 'write `reject ID`; `approve` lists what waits')
    return answerHeld('reject', given, { id }, io)
  },
})
