import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
} from 'viem'

/** A question for the chain, as an agent's look asks it. */
type ChainQuestion = { readonly kind: 'call'; readonly to: Address; readonly data: Hex }
/** What came back: bytes as hex, or why nothing did. */
type ChainAnswer = { readonly ok: true; readonly text: string } | { readonly ok: false }

/** Questions of one wave, each with a way to read its answer. */
export type Wave = {
  /** What was asked so far, in order. */
  readonly questions: readonly ChainQuestion[]
  /**
   * Ask a view of a contract. The returned function finds its result among the wave's answers; null when the call
   * failed, or when what came back is not what the view returns.
   */
  readonly ask: <const A extends Abi, N extends ContractFunctionName<A, 'view'>>(
    abi: A,
    to: Address,
    functionName: N,
    args: ContractFunctionArgs<A, 'view', N>,
  ) => (answers: readonly ChainAnswer[]) => ContractFunctionReturnType<A, 'view', N> | null
}

/** Begin a wave of chain reads. Nothing is sent here: the caller passes `questions` on and brings the answers. */
export function createWave(): Wave {
  const questions: ChainQuestion[] = []
  return {
    questions,
    ask: (abi, to, functionName, args) => {
      // Viem cannot know that any view of any ABI has these arguments; the signature above does.
      const call = { abi: abi as Abi, functionName: functionName as string, args: args as readonly unknown[] }
      const index = questions.push({ kind: 'call', to, data: encodeFunctionData(call) }) - 1
      return (answers) => {
        const answer = answers[index]
        if (answer === undefined || !answer.ok || !isHex(answer.text)) return null
        try {
          return decodeFunctionResult({ ...call, data: answer.text }) as ReturnTypeOf<
            typeof abi,
            typeof functionName
          >
        } catch {
          // Another contract's answer, or none at all: not known.
          return null
        }
      }
    },
  }
}

type ReturnTypeOf<A extends Abi, N extends ContractFunctionName<A, 'view'>> = ContractFunctionReturnType<
  A,
  'view',
  N
>

const isHex = (text: string): text is Hex => /^0x([0-9a-f]{2})*$/i.test(text)
